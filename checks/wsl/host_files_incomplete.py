"""Files of the Windows host's driver are missing."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.containers import windows_gpu
from gpudoctor.targets import asked_for_nvidia, in_container


@check(
    title="Files of the Windows host's driver are missing under /usr/lib/wsl",
    severity=Severity.ERROR,
    cause="The libraries in /usr/lib/wsl/lib load the rest of the driver from its directory of the Windows driver "
    "store, nv_dispi.inf_amd64_*, under /usr/lib/wsl/drivers. WSL mounts both; in a Hyper-V guest with GPU "
    "paravirtualization (GPU-PV) they have to be copied by hand, completely and in the host's current version.",
    fixes=wsl.host_files,
    references=(
        "https://github.com/staralt/dxgkrnl-dkms/issues/7",
        "https://learn.microsoft.com/windows-server/virtualization/hyper-v/gpu-partitioning",
    ),
    targets=windows_gpu,
    caused_by=("wsl.version-1", "wsl.no-dxg", "wsl.linux-driver-installed", "wsl.gpu-disabled"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def host_files_incomplete(facts: Facts) -> Problem | None:
    """NVML does not work; its library is there, but no directory of NVIDIA's driver."""
    if in_container(facts) or not asked_for_nvidia(facts) or known(facts.nvidia.nvml.code) == 0:
        return None
    directories = known(facts.nvidia.kernel.wsl_drivers)
    if directories or (directories is None and not wsl.is_guest(facts)):
        return None  # WSL mounts the directory; where even that did not happen, something else is wrong
    missing = "is missing" if directories is None else "has no directory of NVIDIA's driver (nv_dispi.inf_amd64_*)"
    where = "guest" if wsl.is_guest(facts) else "WSL distribution"
    message = f"The host's driver files are incomplete in this {where}: /usr/lib/wsl/drivers {missing}."
    return Problem(message, phrases(phrase("NVML: {} ({})", facts.nvidia.nvml.text, facts.nvidia.nvml.code)))
