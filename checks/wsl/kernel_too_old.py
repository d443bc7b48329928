"""A kernel of WSL from before its support of CUDA was complete."""

import re

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known
from gpudoctor.targets import in_container, wsl_machine

# The oldest kernel that Microsoft's guide to CUDA in WSL names.
FIRST = (5, 10, 43)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    update = wsl.update_wsl("Update WSL and its kernel")
    return (wsl.own_kernel(), update) if wsl.has_own_kernel(facts) else (update,)


@check(
    title="WSL's kernel is too old for CUDA",
    severity=Severity.ERROR,
    cause="The driver of /dev/dxg is a part of WSL's kernel, which WSL updates apart from Windows and the "
    "distribution. Microsoft asks for 5.10.43.3 or newer for CUDA.",
    fixes=_fixes,
    references=(wsl.MICROSOFT, "https://learn.microsoft.com/windows/ai/directml/gpu-cuda-in-wsl"),
    targets=wsl_machine,
    caused_by=("wsl.linux-driver-installed", "wsl.gpu-disabled"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def kernel_too_old(facts: Facts) -> str | None:
    """CUDA does not start, a library is there to ask, and the kernel is older."""
    if in_container(facts) or known(facts.host.wsl) != 2 or known(facts.nvidia.cuda.code) in (0, None):
        return None
    release = known(facts.host.kernel.release)
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", release)
    if found is None or tuple(int(part or 0) for part in found.groups()) >= FIRST:
        return None
    return f"WSL runs kernel {release}, and CUDA needs 5.10.43.3 or newer."
