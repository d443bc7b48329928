"""TensorFlow for a CUDA major that the driver does not run."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known
from gpudoctor.remedies.cuda import newer_driver
from gpudoctor.remedies.frameworks import newer_tensorflow
from gpudoctor.subjects import OnFramework, tensorflows
from gpudoctor.views.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.views.gpus import nvidia_gpus
from gpudoctor.views.reasons import CUDA_SYSTEM
from gpudoctor.views.tensorflow import severity_of


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return (*newer_tensorflow(on.facts, on.python), *newer_driver(on.facts, str(on.framework.cuda)))


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
    each=tensorflows,
    because=(*CUDA_SYSTEM, "python.*", "tensorflow.several-packages"),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """The build's CUDA major is newer than the driver's."""
    cuda = known(on.framework.cuda)
    if cuda is None or not nvidia_gpus(on.facts):
        return None
    driver = known(driver_cuda(on.facts))
    if driver is None or driver_runs(cuda, driver):
        return None
    floor = drivers.minimum_driver(cuda)
    says = f"{on.name} is built for CUDA {cuda} and requires driver {floor} or newer; the {driver_words(on.facts)} is "
    return Problem(says + f"too old and supports at most CUDA {driver}.", severity=severity_of(on))
