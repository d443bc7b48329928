"""NVML reports that the operating system blocks the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.fixes.container import again
from gpudoctor.maybe import known, known_or, phrase, phrases
from gpudoctor.queries.containers import windows_gpu
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root

BLOCKED = 17  # NVML_ERROR_OPERATING_SYSTEM


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if in_container(facts):
        message = (
            "In the WSL distribution that runs Docker, set no-cgroups = false in "
            "/etc/nvidia-container-runtime/config.toml, restart Docker and recreate the container."
        )
        command = as_root("nvidia-ctk", "config", "--in-place", "--set", "nvidia-container-cli.no-cgroups=false")
        return (again(message, command, as_root("service", "docker", "restart")),)
    model = wsl.driver_model(
        "On Windows, in an administrator prompt, check the driver model, and set WDDM if it is TCC."
    )
    update = wsl.update_wsl("Update WSL, and restart it")
    driver = wsl.windows_driver("Install NVIDIA's current driver on Windows.")
    first = (wsl.own_kernel(),) if wsl.has_own_kernel(facts) and not wsl.is_guest(facts) else ()
    return (*first, model, update, driver)


@check(
    title="GPU access blocked by the operating system in WSL (NVML error 17)",
    severity=Severity.ERROR,
    cause="NVML reports 'GPU access blocked by the operating system' when it cannot reach the Windows driver through "
    "/dev/dxg: the card uses the TCC driver model instead of WDDM (common for Tesla and L40S on Windows Server), the "
    "WSL kernel is a custom one, the Windows driver is too old, or a container may not open the device node.",
    fixes=_fixes,
    references=(
        wsl.CUDA_ON_WSL,
        "https://github.com/microsoft/WSL/issues/11865",
        "https://github.com/microsoft/WSL/issues/12835",
        "https://github.com/microsoft/WSL/issues/9938",
    ),
    targets=windows_gpu,
    caused_by=(
        "wsl.version-1",
        "wsl.no-dxg",
        "wsl.kernel-too-old",
        "wsl.linux-driver-installed",
        "wsl.host-files-incomplete",
        "container.no-gpus-passed",
        "libraries.shadowed-by-path",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def access_blocked(facts: Facts) -> Problem | None:
    """NVML returns 17."""
    if known(facts.nvidia.nvml.code) != BLOCKED:
        return None
    where = "in this container" if in_container(facts) else "in WSL"
    release = known_or(facts.host.kernel.release, "unknown")
    custom = wsl.has_own_kernel(facts) and not wsl.is_guest(facts)
    kernel = f" WSL runs a custom kernel, {release}, not Microsoft's." if custom else ""
    message = f"NVML cannot reach the GPU {where}: GPU access blocked by the operating system (17).{kernel}"
    return Problem(
        message,
        phrases(
            "nvmlInit: " + phrase("{} ", facts.nvidia.nvml.text) + "(17)",
            phrase("library: {}", facts.nvidia.nvml.loaded),
        ),
    )
