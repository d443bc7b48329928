"""A package next to the frameworks whose compiled code is for other GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.facts.python import PackageCode
from gpudoctor.fixes.extensions import for_capability
from gpudoctor.maybe import Unknown, known, present
from gpudoctor.queries.capability import covers, gpu_words, words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import and_more
from gpudoctor.targets import ANY_GPU, OnPython, pythons


def _found(on: OnPython) -> list[tuple[PackageCode, Gpu]]:
    """The packages with CUDA code of which nothing runs on a visible GPU, each with the first such GPU."""
    gpus = visible_gpus(on.facts)
    found = []
    for code in known(on.python.code):
        archs = () if isinstance(code.archs, Unknown) else code.archs
        without = [gpu for gpu in gpus if archs and (own := known(gpu.capability)) and not covers(archs, own)]
        if without:
            found.append((code, without[0]))
    return found


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    code, gpu = _found(on)[0]
    return for_capability(on, code, present(gpu.capability))


@check(
    title="A package has no code for this GPU's compute capability (no kernel image is available)",
    severity=Severity.WARNING,
    cause="GPU code runs only within the major compute capability that it was compiled for. A package that was "
    "compiled on another machine or for the list in TORCH_CUDA_ARCH_LIST, or a wheel that is older than this GPU, has "
    "none for it: 'no kernel image is available for execution on the device', or the package's own message that a "
    "kernel is not available. pip keeps what it compiled once, and installs that again.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility",
        "https://github.com/thu-ml/SageAttention/issues/173",
        "https://github.com/Dao-AILab/flash-attention/issues/1638",
        "https://github.com/ostris/ai-toolkit/issues/475",
        "https://docs.pytorch.org/docs/stable/cpp_extension.html",
    ),
    targets=pythons,
    only_with=(f"{ANY_GPU} pythons.code?",),
    caused_by=("python.*", "pytorch.arch-missing", "packages.gpu-too-old", "packages.gpu-unknown"),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def arch_missing(on: OnPython) -> Problem | None:
    """All code in all libraries of a package is for other architectures."""
    found = _found(on)
    if not found:
        return None
    code, gpu = found[0]
    archs, capability = known(code.archs), present(gpu.capability)
    message = (
        f"{code.package} {code.version}{and_more(found)} has no kernels for {gpu_words(gpu)}: "
        f"{words(archs, capability)}."
    )
    lines = tuple(f"{one.package} {one.version}: {' '.join(known(one.archs))}" for one, _ in found[:4])
    works = any(covers(archs, own) for each in visible_gpus(on.facts) if (own := known(each.capability)))
    return Problem(message, lines, severity=Severity.ADVICE if works else None)
