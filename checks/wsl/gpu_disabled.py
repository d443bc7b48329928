"""The GPU is disabled for this WSL distribution."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known
from gpudoctor.targets import wsl_machine
from gpudoctor.tasks import as_root, query

_FIX = Fix(
    "Remove enabled=false from the section [gpu] of /etc/wsl.conf, then restart WSL.",
    (
        query("grep", "-n", "-A3", "-i", "gpu", "/etc/wsl.conf"),
        as_root("nano", "/etc/wsl.conf", person=True),
        wsl.SHUTDOWN,
    ),
    "change-environment",
    root=True,
    needs="restart of WSL",
    verify=query("/usr/lib/wsl/lib/nvidia-smi"),
)


@check(
    title="The GPU is disabled in /etc/wsl.conf",
    severity=Severity.ERROR,
    cause="With enabled=false in the section [gpu] of /etc/wsl.conf, WSL does not mount the Windows driver's files "
    "under /usr/lib/wsl into this distribution, and no program finds libcuda.so.1.",
    fixes=(_FIX,),
    references=("https://learn.microsoft.com/windows/wsl/wsl-config#gpu-settings",),
    targets=wsl_machine,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gpu_disabled(facts: Facts) -> str | None:
    """The setting is there, and CUDA does not initialize."""
    if known(facts.host.wsl) != 2 or known(facts.nvidia.cuda.code) == 0 or known(facts.wsl.gpu) is not False:
        return None
    return "The section [gpu] of /etc/wsl.conf has enabled=false: this distribution gets no GPU."
