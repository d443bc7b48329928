"""The files of the Windows host's driver are not all there."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.containers import windows_gpu
from gpudoctor.targets import asked_for_nvidia, in_container


@check(
    title="Files of the Windows host's driver are missing under /usr/lib/wsl",
    severity=Severity.ERROR,
    cause="The libraries in /usr/lib/wsl/lib load the rest of the driver from its folder of the Windows driver store, "
    "nv_dispi.inf_amd64_*, under /usr/lib/wsl/drivers. WSL mounts both; into a Hyper-V guest with GPU "
    "paravirtualisation (GPU-PV) they have to be copied by hand, complete and of the host's present version.",
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
    """NVML does not work, its library is there, and no folder of NVIDIA's driver is."""
    if in_container(facts) or not asked_for_nvidia(facts) or known(facts.nvidia.nvml.code) == 0:
        return None
    folders = known(facts.nvidia.kernel.wsl_drivers)
    if folders or (folders is None and not wsl.is_guest(facts)):
        return None  # WSL mounts the folder; where even that did not happen, something else is wrong
    missing = "is missing" if folders is None else "holds no folder of NVIDIA's driver (nv_dispi.inf_amd64_*)"
    where = "guest" if wsl.is_guest(facts) else "WSL distribution"
    message = f"The host's driver files are incomplete in this {where}: /usr/lib/wsl/drivers {missing}."
    return Problem(message, phrases(phrase("NVML: {} ({})", facts.nvidia.nvml.text, facts.nvidia.nvml.code)))
