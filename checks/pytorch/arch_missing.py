"""PyTorch without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.python import reinstall_torch
from gpudoctor.maybe import known, present
from gpudoctor.queries.capability import compiled_for, covers, gpu_words, severity_of, side, words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, torches


def _archs(on: OnFramework) -> tuple[str, ...]:
    """What the build was compiled for, by itself, by its files, or by the code that lies in them."""
    live = on.framework.live
    return compiled_for(live.archs if live else (), on.framework.archs, on.framework.kernels)


def _uncovered(on: OnFramework) -> tuple[list[Gpu], int]:
    """The GPUs without code, and how many have some."""
    gpus = [g for g in visible_gpus(on.facts) if known(g.capability)]
    ill = [g for g in gpus if covers(_archs(on), present(g.capability)) is None]
    return ill, len(gpus) - len(ill)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    gpu = _uncovered(on)[0][0]
    wheel = reinstall_torch(on.facts, on.python, on.framework, gpu)
    if wheel:
        return wheel
    newer = newer_driver(on.facts, "12.8") if side(_archs(on), present(gpu.capability)) == "newer" else ()
    return newer or (
        Fix(
            "Build PyTorch from source for this compute capability, or use another GPU: no wheel for this Python and "
            "driver has code for it. https://github.com/pytorch/pytorch#from-source"
        ),
    )


_CAUSES = {
    "newer": "GPU code runs only within the major compute capability that it was compiled for; this GPU is newer than "
    "this build of PyTorch. A build for a newer CUDA has code for it. is_available() is True all the same.",
    "older": "Builds for newer CUDA releases drop old GPUs, so one of this generation needs a build for an OLDER CUDA: "
    "an upgrade makes it worse.",
    "between": "This build of PyTorch was compiled for other compute capabilities than this GPU's.",
}


@check(
    title="PyTorch has no code for this GPU's compute capability",
    severity=Severity.ERROR,
    cause=_CAUSES["between"],
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility",
        "https://github.com/pytorch/pytorch/blob/main/RELEASE.md#release-compatibility-matrix",
        "https://github.com/Comfy-Org/ComfyUI/issues/8708",
        "https://github.com/Kaggle/kaggle-cli/issues/1151",
    ),
    targets=torches,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def arch_missing(on: OnFramework) -> Problem | None:
    """No machine code and no PTX in the build runs on a GPU that CUDA shows.

    Beside a driver that does not work it is a warning of its own: see `severity_of`.
    """
    if known(on.framework.cuda) is None or not visible_gpus(on.facts):
        return None
    archs = _archs(on)
    ill, well = _uncovered(on)
    if not ill:
        return None
    gpu = ill[0]
    more = f" and {len(ill) - 1} more" if len(ill) > 1 else ""
    message = f"{on.name} has no kernels for {gpu_words(gpu)}{more}: {words(archs, present(gpu.capability))}."
    return Problem(
        message,
        evidence=(f"compiled for: {' '.join(archs)}",),
        cause=_CAUSES[side(archs, present(gpu.capability))],
        severity=Severity.ADVICE if well else severity_of(on.facts),
    )
