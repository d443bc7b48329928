"""How old the reports of a fleet are."""

from datetime import timedelta

from gpudoctor.facts.text_types import moment as as_time
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.numbers import number


def ages(fleet: Fleet) -> str:
    """How old the reports are at the time of the summary; empty: newer than an hour, or nobody knows."""
    newest, oldest = (age_of(fleet.created, one) for one in (fleet.newest, fleet.oldest or fleet.newest))
    if newest is None or oldest is None or oldest < timedelta(hours=1):
        return ""
    (first, unit), (last, larger) = _span(newest), _span(oldest)
    if (first, unit) == (last, larger):
        return f"{_count(last, larger)} old"
    return f"{number(first) if unit == larger else _count(first, unit)} to {_count(last, larger)} old"


def age_of(now: str, then: str) -> timedelta | None:
    """The time between two moments; None: one of them names none."""
    try:
        return as_time(now) - as_time(then)
    except (ValueError, OverflowError, TypeError):
        return None


def _span(age: timedelta) -> tuple[int, str]:
    hours = round(age / timedelta(hours=1))
    return (hours, "hour") if hours < 72 else (round(hours / 24), "day")


def _count(count: int, unit: str) -> str:
    return f"{number(count)} {unit}{'s' * (count != 1)}"
