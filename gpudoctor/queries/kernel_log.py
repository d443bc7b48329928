"""Queries about the kernel log and the journal of services, answered from facts alone."""

from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import Unknown

_MINUTE = 60.0
WEEK = 7 * 86400.0
_UNITS = ((86400.0, "day"), (3600.0, "hour"), (_MINUTE, "minute"))
# Messages of a running driver.
CLEARED_BY_LOADING = frozenset(
    {
        "xid",
        "sxid",
        "fallen-off-bus",
        "gsp-failed",
        "gsp-refused",
        "gsp-wpr2",
        "gsp-firmware",
        "gfw-boot",
        "power-cables",
        "no-interrupts",
        "rm-init-failed",
        "api-mismatch",
        "api-mismatch-module",
        "uvm-hmm",
        "gpu-locked",
        "driver-error",
    }
)


def events(facts: Facts, *kinds: str) -> tuple[LogEvent, ...]:
    """The log's messages of these kinds; empty where no log could be read, and nobody showed one.

    What the running driver reports about a GPU counts since that driver was loaded: reloading it starts with a clean
    GPU. What it reports while it looks for GPUs is before the line that reports that it is loaded.
    """
    found = (*(() if isinstance(facts.log.events, Unknown) else facts.log.events), *facts.log.shown)
    last = max((i for i, event in enumerate(found) if event.kind == "nvidia-loaded"), default=-1)
    return tuple(e for i, e in enumerate(found) if e.kind in kinds and (i > last or e.kind not in CLEARED_BY_LOADING))


def age(facts: Facts, event: LogEvent) -> float | None:
    """Seconds since a message; None where the log or its reader knows no time."""
    now = facts.log.now
    if event.seconds is None or isinstance(now, Unknown) or now < event.seconds:
        return None
    return now - event.seconds


def of_this_week(facts: Facts, found: tuple[LogEvent, ...]) -> tuple[LogEvent, ...]:
    """Messages without those that are known to be older than a week: a machine runs for months."""
    return tuple(event for event in found if (age(facts, event) or 0.0) <= WEEK)


def ago(facts: Facts, event: LogEvent) -> str:
    """As text, with a space in front: " (3 days ago)"; empty where the time is unknown or just now."""
    seconds = age(facts, event)
    if seconds is None or seconds < _MINUTE:
        return ""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size)
    count = int(seconds // size)
    return f" ({count} {unit}{'s' if count > 1 else ''} ago)"


def texts(found: tuple[LogEvent, ...], most: int = 4) -> tuple[str, ...]:
    """The messages verbatim, each once, as evidence."""
    return tuple(dict.fromkeys(event.text for event in found))[:most]


def xids(facts: Facts, address: str | None, *codes: int) -> tuple[LogEvent, ...]:
    """The Xid messages of one GPU (None: of all) with one of these codes (none given: all)."""
    found = events(facts, "xid")
    return tuple(e for e in found if (address is None or e.gpu == address) and (not codes or e.code in codes))
