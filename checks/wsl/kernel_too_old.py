"""A WSL kernel from before its CUDA support was complete."""

import re

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known
from gpudoctor.targets import in_container, wsl_machine

# The oldest kernel in Microsoft's guide to CUDA in WSL.
FIRST = (5, 10, 43)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    update = wsl.update_wsl("Update WSL and its kernel")
    return (wsl.own_kernel(), update) if wsl.has_own_kernel(facts) else (update,)


@check(
    title="WSL kernel is too old for CUDA",
    severity=Severity.ERROR,
    cause="The driver for /dev/dxg is part of the WSL kernel, which WSL updates separately from Windows and the "
    "distribution. Microsoft requires 5.10.43.3 or newer for CUDA.",
    fixes=_fixes,
    references=(wsl.MICROSOFT, "https://learn.microsoft.com/windows/ai/directml/gpu-cuda-in-wsl"),
    targets=wsl_machine,
    caused_by=("wsl.linux-driver-installed", "wsl.gpu-disabled"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def kernel_too_old(facts: Facts) -> str | None:
    """CUDA does not initialize although its library is there, and the kernel is older."""
    if in_container(facts) or known(facts.host.wsl) != 2 or known(facts.nvidia.cuda.code) in (0, None):
        return None
    release = known(facts.host.kernel.release)
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", release)
    if found is None or tuple(int(part or 0) for part in found.groups()) >= FIRST:
        return None
    return f"WSL runs kernel {release}, but CUDA needs 5.10.43.3 or newer."
