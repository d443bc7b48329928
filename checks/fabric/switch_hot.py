"""An NVSwitch is too hot."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import phrase
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.kernel_log import ago, events, texts
from gpudoctor.tasks import filtered, query

_BEGIN, _END = 10004, 10005
_FIXES = (
    Fix(
        "Check the server's fans, its airflow and the room's temperature, and its management (BMC) logs.",
        (
            query("ipmitool", "sdr", "type", "Fan", root=True),
            query("ipmitool", "sdr", "type", "Temperature", root=True),
            filtered(query("dmesg", root=True), query("grep", "SXid")),
        ),
        "improve-cooling",
        root=True,
        verify=filtered(query("dmesg", root=True), query("grep", "-E", "SXid.*1000[45]")),
    ),
)


@check(
    title="NVSwitch is too hot",
    severity=Severity.WARNING,
    cause="An NVSwitch reported a thermal event (SXid 10004) and not yet its end (10005): it is above its limit, and "
    "shuts down if it gets hotter, which takes down the NVLink fabric.",
    fixes=_FIXES,
    references=("https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",),
    targets=not_wsl,
    caused_by=("health.overheated",),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def switch_hot(facts: Facts) -> Problem | None:
    """Of each switch the last of the two messages since the driver was loaded."""
    last: dict[str | None, LogEvent] = {e.gpu: e for e in events(facts, "sxid") if e.code in (_BEGIN, _END)}
    hot = [event for event in last.values() if event.code == _BEGIN]
    if not hot:
        return None
    which = phrase(" at {}", ", ".join(event.gpu for event in hot if event.gpu) or None)
    when = ago(facts, hot[-1])
    message = f"The NVSwitch{which} reported that it is too hot (SXid {_BEGIN}){when}, and has not recovered."
    return Problem(message, texts(tuple(hot)))
