"""PyTorch built for a CUDA major that the driver does not run."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known
from gpudoctor.remedies.cuda import newer_driver
from gpudoctor.remedies.python import reinstall_torch
from gpudoctor.subjects import OnFramework, torches
from gpudoctor.views.driver import driver_cuda, driver_runs, driver_words
from gpudoctor.views.gpus import nvidia_gpus, visible_gpus
from gpudoctor.views.reasons import CUDA_SYSTEM


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    gpu = next(iter(visible_gpus(on.facts)), None)
    wheel = reinstall_torch(on.facts, on.python, on.framework, gpu)
    return (*wheel, *newer_driver(on.facts, str(on.framework.cuda)))


@check(
    title="The NVIDIA driver is too old for this PyTorch",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; for a newer major it is too old, whatever "
    "toolkit is installed. A newer minor of the same major is no problem.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
        "https://github.com/vllm-project/vllm/issues/33992",
    ),
    each=torches,
    because=(*CUDA_SYSTEM, "python.*", "pytorch.arch-missing"),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """The build's CUDA major is newer than the driver's."""
    cuda = known(on.framework.cuda)
    if cuda is None or not nvidia_gpus(on.facts):
        return None
    driver = known(driver_cuda(on.facts))
    if driver is None or driver_runs(cuda, driver):
        return None
    floor = drivers.minimum_driver(cuda, windows=on.facts.host.system == "Windows")
    needs = f" and requires driver {floor} or newer" if floor else ""
    says = (
        f"{on.name} is built for CUDA {cuda}{needs}; the {driver_words(on.facts)} is too old and supports at most "
        f"CUDA {driver}."
    )
    live = on.framework.live
    return Problem(says, evidence=(live.error,) if live and isinstance(live.error, str) else ())
