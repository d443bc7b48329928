"""Which AMD GPU runs which kernels: the target of the GPU, of an override, and those of a wheel.

The tables are imported where there is such a GPU: each run asks this module whether there is.
"""

from collections.abc import Iterator

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts, Gpu
from gpudoctor.targets import OnGpu, OnPair, cards_of, gpu_key, gpus_of, has_nvidia, pairs

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def bare(target: str) -> str:
    """A target without its features: "gfx90a:sramecc+:xnack-" is gfx90a."""
    return target.partition(":")[0]


def covers(archs: tuple[str, ...], gfx: str) -> bool:
    """Whether a library compiled for these targets has kernels for this GPU."""
    from gpudoctor.knowledge import rocm

    names = {bare(a) for a in archs}
    return gfx in names or any(gfx in rocm.generic_targets(n) for n in names)


def same_isa(one: str, other: str) -> bool:
    """Whether two targets run one another's kernels, as far as their instructions go."""
    from gpudoctor.knowledge import rocm

    family = rocm.isa_family(one)
    return (family is not None and family == rocm.isa_family(other)) or both_old(one, other)


def both_old(one: str, other: str) -> bool:
    """Whether both are in gfx9-generic: Vega cards and CPUs with Vega graphics."""
    from gpudoctor.knowledge import rocm

    return {one, other} <= rocm.generic_targets("gfx9-generic")


def override_text(facts: Facts, gpu: Gpu) -> str | None:
    """HSA_OVERRIDE_GFX_VERSION as it applies to this GPU: ROCr also reads one variable per node."""
    env = facts.host.environment
    return env.get(f"{OVERRIDE}_{gpu.index}") or env.get(OVERRIDE) or None


def effective(facts: Facts, gpu: Gpu) -> str | None:
    """The target for which ROCr looks for kernels; None where it is unknown or the override is malformed."""
    from gpudoctor.knowledge import rocm

    text = override_text(facts, gpu)
    if text is not None:
        return rocm.gfx_of_override(text)
    return gpu.gfx if isinstance(gpu.gfx, str) else None


def _visible(facts: Facts) -> tuple[Gpu, ...]:
    from gpudoctor.queries.visibility import visible_amd  # only for AMD's GPUs

    return visible_amd(facts)


def amd_pairs(facts: Facts) -> Iterator[tuple[About, OnPair]]:
    """Each ROCm framework with each GPU that it would use: an iGPU counts where it is alone or chosen."""
    visible = _visible(facts) if gpus_of(facts, "amd") else ()
    alone = not any(g.integrated is False for g in visible)
    for about, on in pairs(facts):
        if on.gpu.vendor != "amd" or (visible and on.gpu not in visible):
            continue
        if on.gpu.integrated is not True or alone:
            yield about, on


def blas_gpus(facts: Facts) -> Iterator[tuple[About, OnGpu]]:
    """Each AMD GPU that programs would compute on by the system's rocBLAS; an iGPU counts where no card is there."""
    if not cards_of(facts, "amd") or facts.amd.blas_path is None:
        return
    visible = _visible(facts)
    cards = has_nvidia(facts) or any(gpu.integrated is not True for gpu in gpus_of(facts, "amd"))
    for gpu in visible:
        if gpu.integrated is not True or not cards:
            yield About(label=f"GPU {gpu.index}", gpu=gpu_key(gpu)), OnGpu(facts, gpu)
