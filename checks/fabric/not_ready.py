"""The fabric manager runs, or cannot be seen from here, and CUDA still reports that the system is not ready."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import fabric
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import CUDA_NOT_READY, not_wsl
from gpudoctor.targets import in_container
from gpudoctor.tasks import as_root, filtered, query

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


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if fabric.multi_node(facts):
        return _RACK
    if in_container(facts):
        return fabric.start(facts)
    wait = Fix(
        "Wait a minute after boot and check again; if it stays so, restart the fabric manager and read its log.",
        (
            filtered(query("nvidia-smi", "-q"), query("grep", "-A2", "Fabric")),
            as_root("systemctl", "restart", fabric.UNIT),
            query("journalctl", "-u", fabric.UNIT, "-n", "30"),
        ),
        "restart-process",
        root=True,
        verify=filtered(query("nvidia-smi", "-q"), query("grep", "-A2", "Fabric")),
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
    references=("https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",),
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
    waiting = [str(g.index) for g in fabric.waiting(facts)]
    who = f"GPU {waiting[0]} has" if len(waiting) == 1 else f"GPUs {', '.join(waiting)} have"
    which = f"{who} not joined the NVLink fabric" if waiting else "the NVLink fabric is not set up"
    if fabric.multi_node(facts):
        return Problem(f"cuInit returns 802: {which}. The controller on the rack's switch trays has to do that.")
    missing = " and ".join(fabric.missing_modules(facts))
    where = f" The modules {missing} are not loaded." if missing else ""
    where += " The host's fabric manager has to do that." if in_container(facts) else ""
    lines = phrases(*(phrase("GPU {}: fabric state {}", g.index, g.fabric_state) for g in fabric.waiting(facts)))
    return Problem(f"cuInit returns 802: {which}.{where}", lines)
