"""How old the reports of a fleet are."""

from datetime import timedelta

from gpudoctor.facts.text_types import moment as as_time
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.numbers import number


def ages(fleet: Fleet) -> str:
    """How old the reports are at the time of the summary; empty: newer than an hour, or nobody knows."""
    newest, oldest = (_age(fleet.created, one) for one in (fleet.newest, fleet.oldest or fleet.newest))
    if newest is None or oldest is None or oldest < timedelta(hours=1):
        return ""
    first, last = _span(newest), _span(oldest)
    return f"{last} old" if first == last else f"{first} to {last} old"


def _age(now: str, then: str) -> timedelta | None:
    try:
        return as_time(now) - as_time(then)
    except (ValueError, OverflowError, TypeError):
        return None


def _span(age: timedelta) -> str:
    hours = round(age / timedelta(hours=1))
    count, unit = (hours, "hour") if hours < 72 else (round(hours / 24), "day")
    return f"{number(count)} {unit}{'s' * (count != 1)}"
