"""WSL 2 without /dev/dxg."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.containers import has_cuda_wheel
from gpudoctor.targets import asked_for_nvidia, in_container, wsl_machine


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    update = wsl.update_wsl("Update WSL and its kernel")
    driver = wsl.windows_driver("Install NVIDIA's current driver on Windows.")
    return (wsl.own_kernel(), update) if wsl.has_own_kernel(facts) else (update, wsl.own_kernel(), driver)


@check(
    title="/dev/dxg is missing in WSL",
    severity=Severity.ERROR,
    cause="In WSL 2 programs reach the Windows driver through the device /dev/dxg of Microsoft's kernel (dxgkrnl). It "
    "is missing with a custom kernel built without it, with a kernel or Windows version that is too old, and with "
    "gpuSupport=false in .wslconfig.",
    fixes=_fixes,
    references=(wsl.CUDA_ON_WSL, wsl.MICROSOFT, "https://github.com/microsoft/WSL2-Linux-Kernel"),
    targets=wsl_machine,
    caused_by=("wsl.gpu-disabled",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def no_dxg(facts: Facts) -> Problem | None:
    """The node does not exist, and something here needs a GPU."""
    if known(facts.host.wsl) != 2 or in_container(facts):
        return None
    if any(n.path == "/dev/dxg" for n in known(facts.nvidia.kernel.nodes)):
        return None
    if not (asked_for_nvidia(facts) or has_cuda_wheel(facts)):
        return None
    release = known_or(facts.host.kernel.release, "unknown")
    whose = " (not Microsoft's)" if wsl.has_own_kernel(facts) else ""
    return Problem(f"WSL 2 runs kernel {release}{whose} and has no /dev/dxg: no program can reach the GPU.")
