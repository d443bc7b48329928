"""llama.cpp whose code for GPUs is for other GPUs than those that are here."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.facts.llama_cpp import GgmlBackend
from gpudoctor.fixes import llama_cpp as fixes
from gpudoctor.fixes import rocblas
from gpudoctor.fixes.variables import assign
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import known, known_or, text_of
from gpudoctor.queries import capability, gfx
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.llama_cpp import for_these_gpus, installed, name_of
from gpudoctor.targets import gpu_name, gpus_of

_SYSTEM = "rocm.system-rocblas-without-gfx"


class _Lack(msgspec.Struct, frozen=True):
    """A backend, a GPU on which its code does not run, that GPU's target, and what there is instead."""

    backend: GgmlBackend
    gpu: Gpu
    target: str
    there: tuple[str, ...]
    blas: bool = False  # it has code for the GPU, and the rocBLAS that it loads has none


def _found(facts: Facts) -> _Lack | None:
    """The first backend that runs on no GPU of its vendor; what is missing of its libraries is another check's."""
    lacks = (lack for one in for_these_gpus(facts) if not one.missing for lack in _lack(facts, one))
    return next(lacks, None)


def _lack(facts: Facts, one: GgmlBackend) -> Iterator[_Lack]:
    gpus = {"cuda": nvidia_gpus(facts), "hip": gpus_of(facts, "amd")}.get(one.kind, ())
    targets = {gpu: _target(facts, one.kind, gpu) for gpu in gpus}
    if not targets or any(target is None for target in targets.values()):
        return
    for there, blas in ((known(one.targets), False), (one.blas, True)):
        without = [gpu for gpu, target in targets.items() if there and not _runs(one.kind, there, text_of(target))]
        if there and len(without) == len(gpus):
            yield _Lack(one, without[0], text_of(targets[without[0]]), there, blas)


def _target(facts: Facts, kind: str, gpu: Gpu) -> str | None:
    if kind == "cuda":
        return known(gpu.capability)
    known(gpu.gfx)
    return gfx.effective(facts, gpu)


def _runs(kind: str, there: tuple[str, ...], target: str) -> bool:
    return gfx.covers(there, target) if kind == "hip" else capability.covers(there, target) is not None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    lack = _found(facts)
    if lack is None:
        return ()
    kind, vulkan = lack.backend.kind, fixes.build(facts, "vulkan")
    if lack.blas:
        own = gfx.bare(text_of(lack.gpu.gfx))
        return (*rocblas.kernels(facts, own, lack.there, fixes.proof(facts)), vulkan)
    build = fixes.build(facts, kind, lack.target.replace(".", ""))
    image = fixes.image(facts, kind)
    value = rocm.override_for(lack.target) if kind == "hip" else None
    sibling = (assign(gfx.OVERRIDE, value, f"Let {lack.target} use its sibling's kernels."),) if value else ()
    return (*((image,) if image else ()), *sibling, build, *((vulkan,) if kind == "hip" else ()))


@check(
    title="llama.cpp has no code for this GPU",
    severity=Severity.WARNING,
    cause="Code for GPUs runs only on those that it was compiled for: CUDA's within a major compute capability, "
    "ROCm's on the gfx targets that were named (GPU_TARGETS). On another one the GPU is listed, and the first kernel "
    "fails: 'no kernel image is available for execution on the device', 'No compatible code objects found', a crash. "
    "With ROCm the large multiplications are rocBLAS's, whose kernels are in files for some targets alone.",
    fixes=_fixes,
    references=(
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md",
        "https://github.com/ggml-org/llama.cpp/issues/19949",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility",
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html",
    ),
    targets=installed,
    caused_by=("rocm.override-of-another-isa", _SYSTEM),
    affects=("tools",),
    validated_on=("table 2026-11",),
)
def arch_missing(facts: Facts) -> Problem | None:
    """No code of a backend, or no file of its rocBLAS, is for a GPU of this machine."""
    lack = _found(facts)
    if lack is None:
        return None
    gpu, there = gpu_name(lack.gpu), " ".join(sorted(dict.fromkeys(map(gfx.bare, lack.there))))
    named = lack.target if lack.backend.kind == "hip" else capability.sm(lack.target)
    what = "the rocBLAS that it loads has no kernels" if lack.blas else f"{lack.backend.path} has no code"
    message = f"{name_of(facts)}: {what} for {named}, which {gpu} is; it has {there}."
    of_system = lack.blas and set(lack.there) <= set(known_or(facts.amd.blas, ()))
    return Problem(message, not_caused_by=() if of_system else (_SYSTEM,))
