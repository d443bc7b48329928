"""CuPy for a CUDA major that the driver does not run."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known
from gpudoctor.remedies.cuda import newer_driver
from gpudoctor.remedies.frameworks import reinstall_cupy
from gpudoctor.subjects import OnFramework, cupys
from gpudoctor.views.cupy import on_nvidia
from gpudoctor.views.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.views.reasons import CUDA_SYSTEM


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    fitting = reinstall_cupy(on.facts, on.python, str(on.framework.distribution))
    return (*fitting, *newer_driver(on.facts, str(on.framework.cuda)))


@check(
    title="The NVIDIA driver is too old for this CuPy",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; for a newer major it is too old, and CuPy "
    "says cudaErrorInsufficientDriver.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",),
    each=cupys,
    because=(*CUDA_SYSTEM, "python.*", "cupy.several-packages"),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """CuPy's CUDA major is newer than the driver's."""
    if not on_nvidia(on):
        return None
    cuda, driver = known(on.framework.cuda), known(driver_cuda(on.facts))
    if cuda is None or driver is None or driver_runs(cuda, driver):
        return None
    floor = drivers.minimum_driver(cuda)
    says = f"{on.framework.distribution} {on.framework.version} is for CUDA {cuda} and requires driver {floor} or "
    says += f"newer; the {driver_words(on.facts)} supports at most CUDA {driver}."
    return Problem(says)
