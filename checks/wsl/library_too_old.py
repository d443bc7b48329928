"""A library that WSL's libcuda needs is missing: cuInit 500."""

import msgspec

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
            "Desktop to 4.31 or newer), then recreate the container."
        )
        commands = (
            as_root("apt-get", "update"),
            as_root("apt-get", "install", "--only-upgrade", "nvidia-container-toolkit"),
        )
        found = again(message, *commands, as_root("service", "docker", "restart"))
        return (msgspec.structs.replace(found, action="reinstall-package"),)
    update = wsl.update_wsl("Update WSL and restart it, so that it reloads the driver's libraries")
    return (update, wsl.windows_driver("Install NVIDIA's current driver on Windows."))


@check(
    title="libnvdxgdmal.so.1 is missing: cuInit returns 500 in WSL",
    severity=Severity.ERROR,
    cause="Since 555, the Windows driver's libcuda loads libnvdxgdmal.so.1. NVIDIA Container Toolkit before 1.14.4 "
    "does not know this file and does not mount it into containers: cuInit then returns 500, named symbol not found.",
    fixes=_fixes,
    references=("https://github.com/NVIDIA/nvidia-container-toolkit/issues/520",),
    targets=windows_gpu,
    caused_by=("container.no-gpus-passed", "container.no-compute-capability", "wsl.linux-driver-installed"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def library_too_old(facts: Facts) -> Problem | None:
    """The result of cuInit is 500, and the file is missing."""
    if known(facts.nvidia.cuda.code) != NOT_FOUND or known(facts.nvidia.kernel.dxgdmal) is not False:
        return None
    where = "in this container" if in_container(facts) else "in this WSL distribution"
    message = f"cuInit returns 500 (named symbol not found), and libnvdxgdmal.so.1 is not {where}."
    return Problem(message, phrases(phrase("libcuda: {}", facts.nvidia.cuda.loaded)))
