"""CuPy without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import reinstall_cupy
from gpudoctor.knowledge import cupy
from gpudoctor.maybe import phrase, present
from gpudoctor.queries.capability import gpu_words, severity_of
from gpudoctor.queries.cupy import on_nvidia
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, cupys


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return reinstall_cupy(on.facts, on.python, present(on.framework.distribution))


@check(
    title="CuPy has no code for this GPU's compute capability",
    severity=Severity.ERROR,
    cause="CUDA 13 dropped GPUs before Turing, and with it CuPy's package for CUDA 13: neither its own kernels nor its "
    "run-time compiler serve them. The package for CUDA 12 does.",
    fixes=_fixes,
    references=(
        "https://docs.cupy.dev/en/stable/install.html",
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
    ),
    targets=cupys,
    caused_by=("python.*", "cupy.several-packages", "cupy.wrong-cuda-major"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def arch_missing(on: OnFramework) -> Problem | None:
    """What the package was compiled for does not run on the GPU."""
    row = cupy.package(on.framework.distribution or "")
    if not on_nvidia(on) or row is None:
        return None
    for gpu in visible_gpus(on.facts):
        if cupy.kernels_for(row.name, present(gpu.capability)) is None:
            name = row.name + phrase(" {}", on.framework.version)
            message = f"{name} has no code for {gpu_words(gpu)}; it is compiled for {row.targets}."
            return Problem(message, severity=severity_of(on.facts))
    return None
