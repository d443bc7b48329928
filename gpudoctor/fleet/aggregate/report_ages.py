"""Which reports are too old to show how their nodes are."""

from array import array
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from gpudoctor.facts.text_types import moment

# Without --max-age a report is stale where it is so much older than the newest: checks run daily or more often where
# somebody watches them, and a week leaves room for a node that is repaired.
USUAL = timedelta(days=7)
_SLACK = 3600  # seconds by which a clock may be ahead of ours; a report of a later time sets no limit for the others


def seconds(created: str) -> int:
    """When a report was made, in seconds since 1970; 0: it says no time."""
    try:
        return max(0, int(moment(created).timestamp())) if created else 0
    except (ValueError, OverflowError):
        return 0


def stale(made: "array[int]", max_age: timedelta | None, now: float) -> Iterator[tuple[int, str]]:
    """The reports that are too old, by their place, and a sentence about each.

    Args:
        made: when each was made; 0: nobody knows.
        max_age: how old a report may be now; None: USUAL before the newest one.
        now: seconds since 1970.
    """
    if max_age is None:
        newest = max((one for one in made if one <= now + _SLACK), default=0)
        limit, what = newest - USUAL.total_seconds(), f"more than {spelled(USUAL)} before the newest report"
    else:
        limit, what = now - max_age.total_seconds(), f"which is older than {spelled(max_age)} (--max-age)"
    for place, one in enumerate(made):
        if max_age is not None and not 0 < one <= now + _SLACK:
            dated = f"is of {_day(one)}, which is in the future" if one else "does not say when it was made"
            yield place, f"Its report {dated} (--max-age)."
        elif 0 < one < limit:
            yield place, f"Its report is of {_day(one)}, {what}."


def spelled(age: timedelta) -> str:
    """A duration for people, in the largest unit that it is a whole number of."""
    units = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))
    whole = round(age.total_seconds())
    unit, size = next(one for one in units if not whole % one[1])
    return f"{whole // size:,} {unit}{'s' * (whole != size)}"


def _day(made: int) -> str:
    return datetime.fromtimestamp(made, timezone.utc).strftime("%Y-%m-%d")
