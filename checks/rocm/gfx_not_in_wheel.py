"""A ROCm framework without kernels for the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import rocm, torch
from gpudoctor.maybe import known, known_or, present, text_of
from gpudoctor.queries.capability import compiled_for
from gpudoctor.queries.gfx import OVERRIDE, amd_pairs, bare, covers, effective, override_text, same_isa
from gpudoctor.queries.packages import python_minor
from gpudoctor.queries.visibility import HIP, hip_numbers, visible_amd
from gpudoctor.targets import OnPair, gpu_name
from gpudoctor.tasks import cmd, export, unset


def _sibling(on: OnPair) -> str | None:
    """The override with which this GPU borrows kernels that the framework has."""
    text = rocm.override_for(text_of(on.gpu.gfx))
    target = rocm.gfx_of_override(text) if text else None
    return text if target and covers(known_or(on.framework.archs, ()), target) else None


def _good(on: OnPair) -> tuple[Gpu, ...]:
    """The other visible cards that the framework has kernels for."""
    archs = known_or(on.framework.archs, ())
    others = [gpu for gpu in visible_amd(on.facts) if gpu != on.gpu and gpu.integrated is not True]
    return tuple(gpu for gpu in others if isinstance(gpu.gfx, str) and covers(archs, gpu.gfx))


def _hide(on: OnPair) -> Fix:
    numbers = hip_numbers(on.facts, _good(on))
    return Fix(
        f"Expose only the GPUs that {on.name} has kernels for; programs may pick the other one first, and fail on it.",
        (export(HIP, numbers),),
        "change-environment",
        needs="restart of the program",
        undo=(unset(HIP),),
        verify=cmd("python3", "-c", "import torch; print(torch.cuda.get_device_name(0))"),
    )


def _fixes(on: OnPair) -> tuple[Fix, ...]:
    fixes = [_hide(on)] if _good(on) else []
    sibling, gfx = _sibling(on), present(on.gpu.gfx)
    if sibling and override_text(on.facts, on.gpu) is None:
        same = present(rocm.gfx_of_override(sibling))
        fixes.append(
            Fix(
                f"Let {gfx} run the kernels of {same}, which has the same instruction set.",
                (export(OVERRIDE, sibling),),
                "change-environment",
                needs="restart of the program",
                undo=(unset(OVERRIDE),),
                verify=cmd("python3", "-c", 'import torch; print(torch.ones(2, device="cuda") + 1)'),
            )
        )
    if on.framework.name == "torch" and torch.rocm_wheel_for(gfx, python_minor(on.python)):
        fixes += reinstall_torch(on.facts, on.python, on.framework, on.gpu, keep=True)
    return tuple(fixes) or (_none(on, gfx),)


def _none(on: OnPair, gfx: str) -> Fix:
    newest = torch.rocm_for(gfx) if on.framework.name == "torch" else None
    if newest:
        return Fix(f"A PyTorch for ROCm {newest} has kernels for {gfx}; it needs another Python version than this one.")
    releases = rocm.releases_for(gfx)
    where = (
        f" ROCm itself supports {gfx} since {releases[0]}: build the framework from source with it." if releases else ""
    )
    return Fix(
        f"No known wheel has kernels for {gfx}, and no override is known to work for it.{where} Otherwise use the "
        "CPU, Vulkan or another GPU.",
        impact="none",
    )


# Where ROCm's runtime does not start, and the framework sees no GPU either, no other wheel helps before it does.
_RUNTIME = ("rocm.rocminfo-fails", "rocm.rocminfo-hangs")


@check(
    title="The framework has no kernels for this AMD GPU",
    severity=Severity.ERROR,
    cause="ROCm libraries are compiled for a list of gfx targets, and the driver cannot translate between them. On a "
    "GPU that is not in the list every kernel fails: 'invalid device function', 'no kernel image is available'.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html",
        "https://llvm.org/docs/AMDGPUUsage.html",
        "https://github.com/ROCm/ROCm/issues/1743",
    ),
    targets=amd_pairs,
    caused_by=(
        "rocm.gpu-without-kfd",
        "rocm.override-of-another-isa",
        "visibility.hip-selects-integrated",
        "rocm.not-loaded",
        "rocm.not-driven",
        "rocm.kfd-failed",
        *_RUNTIME,
        "pytorch.wrong-vendor",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def gfx_not_in_wheel(on: OnPair) -> Problem | None:
    """Neither the GPU's own target nor that of a matching override is compiled in."""
    gfx, archs = known(on.gpu.gfx), compiled_for(on.framework.archs)
    if gfx is None or not archs or covers(archs, gfx):
        return None
    target, text = effective(on.facts, on.gpu), override_text(on.facts, on.gpu)
    if text is not None and (target is None or not same_isa(gfx, target) or covers(archs, target)):
        return None  # a matching override helps; a wrong one is another check's
    live = on.framework.live
    blind = live is not None and live.available is False
    names = " ".join(dict.fromkeys(bare(a) for a in archs))
    name = known_or(on.gpu.name, "the GPU")
    good = _good(on)
    other = f" {gpu_name(good[0])} in this machine works." if good else ""
    set_ = f" With {OVERRIDE}={text} it looks for {present(target)}, which is not included either." if text else ""
    return Problem(
        f"{on.name} was not compiled for {gfx} ({name}): it has no kernels for this GPU, only for "
        f"{names}.{set_}{other}",
        (f"{on.framework.name} targets: {names}", f"GPU {on.gpu.index}: {gfx}"),
        severity=Severity.WARNING if good else None,
        not_caused_by=() if blind else _RUNTIME,
    )
