"""A library that WSL's libcuda needs is missing: cuInit 500."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.fixes.container import again
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.containers import windows_gpu
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root

NOT_FOUND = 500  # CUDA_ERROR_NOT_FOUND, "named symbol not found"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        message = (
            "In the WSL distribution that runs Docker, update the NVIDIA Container Toolkit to 1.14.4 or newer (Docker "
            "Desktop to 4.31 or newer), then start the container anew."
        )
        commands = (
            as_root("apt-get", "update"),
            as_root("apt-get", "install", "--only-upgrade", "nvidia-container-toolkit"),
        )
        return (again(message, *commands, as_root("service", "docker", "restart")),)
    update = wsl.update_wsl("Update WSL and restart it, so that it takes the driver's libraries anew")
    return (update, wsl.windows_driver("Install NVIDIA's current driver on Windows."))


@check(
    title="A library that CUDA needs in WSL, libnvdxgdmal.so.1, is missing",
    severity=Severity.ERROR,
    cause="From 555 on the Windows driver's libcuda loads libnvdxgdmal.so.1. NVIDIA Container Toolkits before 1.14.4 "
    "do not know this file and do not mount it into containers: cuInit then returns 500, named symbol not found.",
    fixes=_fixes,
    references=("https://github.com/NVIDIA/nvidia-container-toolkit/issues/520",),
    targets=windows_gpu,
    caused_by=("container.no-gpus-passed", "container.no-compute-capability", "wsl.linux-driver-installed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def library_too_old(facts: Facts) -> Problem | None:
    """Look for cuInit's result 500, and whether the file is there."""
    if known(facts.nvidia.cuda.code) != NOT_FOUND or known(facts.nvidia.kernel.dxgdmal) is not False:
        return None
    where = "in this container" if in_container(facts) else "in this WSL distribution"
    message = f"cuInit returns 500 (named symbol not found), and libnvdxgdmal.so.1 is not {where}."
    return Problem(message, phrases(phrase("libcuda: {}", facts.nvidia.cuda.loaded)))
