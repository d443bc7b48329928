"""An open module with which B200 machines hang after 66 days of uptime."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.module import on_the_host
from gpudoctor.knowledge.regressions import regressions
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, in_container, nvidia_host
from gpudoctor.tasks import query

_DAY = 86400.0
# The reports name 66 days 12 hours; NVIDIA/open-gpu-kernel-modules#971.
_HANGS = 66.4
# So long before it a reboot can still be planned; days.
_NOTICE = 7
# What the driver then writes every four seconds.
_SIGN = "postRxDetLinkMask"
_UPTIME = query("uptime")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Reboot: after that it works for another 66 days."
    if in_container(facts):
        return (on_the_host(message),)
    plan = Fix(
        "Until a driver release is known to be fixed: reboot each machine of this kind in a maintenance window before "
        "its 66th day of uptime.",
        (_UPTIME,),
        impact="none",
        later=True,
    )
    return (system.reboot(message), plan)


@check(
    title="Driver hangs after 66 days of uptime (NVIDIA open module on B200)",
    severity=Severity.ERROR,
    cause="Machines with B200 and some releases of the open kernel module hang after about 66 days and 12 hours of "
    "uptime: calls into the driver, nvidia-smi and CUDA, never return. A clock of the module that wraps around is the "
    "suspected reason.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/971",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/pull/1014",
    ),
    targets=nvidia_host,
    caused_by=(*DEAD, "host.gpu-driver-oops"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def uptime_hang(facts: Facts) -> Problem | None:
    """The chip and the age fit; and the release is known for it, or the log has the lines of a driver that hangs."""
    if all(card.chip != "GB100" for card in cards_of(facts, "nvidia")):
        return None
    release, days = known(facts.nvidia.kernel.loaded), known(facts.host.uptime) / _DAY
    if release is None or days < _HANGS - _NOTICE or known_or(facts.nvidia.kernel.flavor, "open") != "open":
        return None
    named = regressions("nvidia", release, "GB100", "uptime")
    lines = tuple(event for event in events(facts, "driver-error") if _SIGN in event.text)
    hung = facts.nvidia.nvml.hung is not None or facts.nvidia.cuda.hung is not None
    up = f"This machine has been up for {days:.1f} days"
    if days >= _HANGS:
        message = f"{up}, and driver {release} does not respond: with B200 it hangs after 66.5 days of uptime."
        return Problem(message, texts(lines[-2:])) if hung and (named or lines) else None
    if hung or not named:
        return None
    return Problem(f"{up}; with B200, driver {release} hangs after 66.5 days of uptime.", severity=Severity.ADVICE)
