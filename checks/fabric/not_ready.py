"""The fabric manager runs, or cannot be seen from here, and CUDA still reports that the system is not ready."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import in_runs
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric
from gpudoctor.fixes.module_option import set_option
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import CUDA_NOT_READY, not_wsl
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks import as_root, filtered, query
from gpudoctor.tasks.placeholders import PARTITION

_RACK = (
    Fix(
        "Check the rack's NVLink controller (NMX-Controller) and its partitions, on the switch trays; then reboot "
        "this node, so that its GPUs register again.",
        (filtered(query("nvidia-smi", "-q"), query("grep", "-A6", "Fabric")), as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        verify=filtered(query("nvidia-smi", "-q"), query("grep", "-A6", "Fabric")),
    ),
)


_GUEST = (
    "In the shared NVSwitch model a guest gets GPUs alone: the fabric manager of the host, or of its service VM, joins "
    "the GPUs of one partition and has to activate it before the guest starts. Until then cuInit returns 802. A fabric "
    "manager in the guest has no switch to set up."
)
_CONFIGURATION = "/usr/share/nvidia/nvswitch/fabricmanager.cfg"


def _for_a_guest(facts: Facts) -> tuple[Fix, ...]:
    """What the owner of the switches does; a GPU that is alone can also do without NVLink."""
    activate = Fix(
        "On the host, or in the service VM that owns the NVSwitches: run the fabric manager with FABRIC_MODE=1 (shared "
        "NVSwitch; 2 for vGPU), activate the partition that has exactly this guest's GPUs, then restart this guest. In "
        "a cloud, ask the provider.",
        (
            query("grep", "FABRIC_MODE", _CONFIGURATION),
            as_root("fmpm", "-l"),
            as_root("fmpm", "-a", PARTITION),
        ),
        "restart-process",
        root=True,
        needs="restart of the virtual machine",
        place="outside",
    )
    if len(gpus_of(facts, "nvidia")) != 1:
        return (activate,)
    alone = set_option(facts, "Use this one GPU without NVLink", "NVreg_NvLinkDisable=1", "nvidia-nvlink")
    return (activate, alone)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if fabric.multi_node(facts):
        return _RACK
    if in_container(facts):
        return fabric.start(facts)
    if fabric.switches_elsewhere(facts):
        return _for_a_guest(facts)
    wait = Fix(
        "Wait a minute after boot and check again; if it stays so, restart the fabric manager and read its log.",
        (
            fabric.state_of_gpus(facts),
            as_root("systemctl", "restart", fabric.UNIT),
            query("journalctl", "-u", fabric.UNIT, "-n", "30"),
        ),
        "restart-process",
        root=True,
        verify=fabric.state_of_gpus(facts),
    )
    modules = fabric.missing_modules(facts)
    load = "Load the modules that the fabric manager needs to reach this board's NVSwitches, then restart it."
    commands = (*fabric.load_modules(facts), as_root("systemctl", "restart", fabric.UNIT))
    first = (Fix(load, commands, "reload-module", root=True),) if modules else ()
    switch = "Reboot; if the fabric stays incomplete, an NVSwitch or NVLink is at fault (SXid in the log)."
    return (
        *first,
        wait,
        Fix(
            switch,
            (filtered(query("dmesg", root=True), query("grep", "-E", "SXid|Xid")), as_root("reboot")),
            "reboot",
            root=True,
            needs="reboot",
        ),
    )


@check(
    title="The NVLink fabric is not ready: cuInit 802",
    severity=Severity.ERROR,
    cause="cuInit returns 802 (system not yet initialized) until every GPU has joined the NVLink fabric that the "
    "fabric manager sets up. Right after boot that takes a minute; later it means that the setup failed.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
        "https://github.com/NVIDIA/Fabric-Manager-Client",
        "https://github.com/NVIDIA/kubevirt-gpu-device-plugin/issues/133",
    ),
    targets=not_wsl,
    caused_by=(
        *DEAD,
        "fabric.manager-down",
        "fabric.manager-mismatch",
        "fabric.subnet-manager-missing",
        "device.confidential-not-ready",
        "device.nvlink-fault",
        "driver.hmm-without-room",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_ready(facts: Facts) -> Problem | None:
    """The result 802 on a board that needs the fabric."""
    code = known(facts.nvidia.cuda.code)
    if code != CUDA_NOT_READY or not fabric.needs_manager(facts):
        return None
    waiting = [g.index for g in fabric.waiting(facts)]
    who = f"GPU {waiting[0]} has" if len(waiting) == 1 else f"GPUs {in_runs(waiting)} have"
    which = f"{who} not joined the NVLink fabric" if waiting else "the NVLink fabric is not set up"
    if fabric.joined(facts):
        which = "the system is not ready, although every GPU has joined the NVLink fabric"
    if fabric.multi_node(facts):
        return Problem(f"cuInit returns 802: {which}. The controller on the rack's switch trays has to do that.")
    if fabric.switches_elsewhere(facts):
        count = len(gpus_of(facts, "nvidia"))
        has, these = ("1 GPU", "this GPU") if count == 1 else (f"{count} GPUs", "these GPUs")
        message = (
            f"cuInit returns 802: this virtual machine has {has} of a board with NVSwitch and none of its switches: "
            f"the host has to activate the fabric partition of {these}."
        )
        return Problem(message, _states(facts), cause=_GUEST)
    missing = " and ".join(fabric.missing_modules(facts))
    where = f" The modules {missing} are not loaded." if missing else ""
    where += " The host's fabric manager has to do that." if in_container(facts) else ""
    return Problem(f"cuInit returns 802: {which}.{where}", _states(facts))


def _states(facts: Facts) -> tuple[str, ...]:
    return phrases(*(phrase("GPU {}: fabric state {}", g.index, g.fabric_state) for g in fabric.waiting(facts)))
