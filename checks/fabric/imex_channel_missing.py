"""The IMEX service runs, and programs have no channel to use it."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric
from gpudoctor.fixes.module_option import set_option
from gpudoctor.maybe import known
from gpudoctor.queries.driver import own_kernel
from gpudoctor.tasks import Shell, as_root, query

_FOLDER = "/dev/nvidia-caps-imex-channels"
_LISTED = query("ls", "-l", _FOLDER)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Let the driver create the default channel at every boot"
    lasting = set_option(facts, message, "NVreg_CreateImexChannel0=1", "nvidia-imex", verify=_LISTED)
    number = "$(awk '/nvidia-caps-imex-channels/ {print $1}' /proc/devices)"
    now = Fix(
        "Create it now, until the next reboot.",
        (as_root("mkdir", "-p", _FOLDER), Shell(f"mknod -m 666 {_FOLDER}/channel0 c {number} 0", root=True)),
        "change-environment",
        root=True,
        undo=(as_root("rm", f"{_FOLDER}/channel0"),),
        verify=_LISTED,
    )
    return (lasting, now)


@check(
    title="IMEX channel is missing",
    severity=Severity.WARNING,
    cause="Programs share memory over multi-node NVLink through a channel, a device node that the administrator "
    "creates; it does not survive a reboot. Without one CUDA fails such requests with insufficient permission.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/imexchannels.html",),
    targets=own_kernel,
    caused_by=("fabric.not-ready", "driver.not-loaded", "driver.device-nodes-missing"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def imex_channel_missing(facts: Facts) -> str | None:
    """Where the service runs on this very machine; elsewhere something else assigns channels."""
    if not fabric.multi_node(facts) or known(facts.nvidia.kernel.imex) != "active":
        return None
    if any(node.path.startswith(_FOLDER) for node in known(facts.nvidia.kernel.nodes)):
        return None
    return f"nvidia-imex runs, but there is no channel in {_FOLDER}: CUDA cannot share memory with other nodes."
