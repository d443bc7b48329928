"""TensorFlow for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.frameworks import newer_tensorflow
from gpudoctor.maybe import present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver_floor import behind_framework
from gpudoctor.queries.tensorflow import severity_of
from gpudoctor.targets import OnFramework, tensorflows


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return (*newer_tensorflow(on.facts, on.python), *newer_driver(on.facts, present(on.framework.cuda)))


@check(
    title="The NVIDIA driver is too old for this TensorFlow",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; for a newer major it is too old, whatever "
    "libraries are installed.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/install/pip",
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    ),
    targets=tensorflows,
    caused_by=(*CUDA_SYSTEM, "python.*", "tensorflow.several-packages"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """The build's CUDA major is newer than the driver's."""
    return behind_framework(on, on.name, severity=severity_of(on))
