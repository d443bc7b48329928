"""CuPy for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.frameworks import reinstall_cupy
from gpudoctor.maybe import phrase, present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.cupy import on_nvidia
from gpudoctor.queries.driver_floor import behind_framework
from gpudoctor.targets import OnFramework, cupys


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    fitting = reinstall_cupy(on.facts, on.python, present(on.framework.distribution))
    return (*fitting, *newer_driver(on.facts, present(on.framework.cuda)))


@check(
    title="The NVIDIA driver is too old for this CuPy",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; for a newer major it is too old, and CuPy "
    "says cudaErrorInsufficientDriver.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",),
    targets=cupys,
    caused_by=(*CUDA_SYSTEM, "python.*", "cupy.several-packages"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """CuPy's CUDA major is newer than the driver's."""
    name = (on.framework.distribution or "CuPy") + phrase(" {}", on.framework.version)
    return behind_framework(on, name) if on_nvidia(on) else None
