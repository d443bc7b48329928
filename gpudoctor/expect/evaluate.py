"""Whether a fact is as expected: decided here for files of expectations, `require()`, pytest and fleets."""

from collections.abc import Callable, Iterable
from typing import Any

from gpudoctor.expect.operators import OPERATORS, WITHOUT, shown
from gpudoctor.maybe import Unknown, UnknownFactError

Wanted = tuple[tuple[str, Any], ...]  # operators by name, each with what it compares with (`Operator.held`)


def judged(wanted: Wanted, value: Any) -> str | None:
    """Return None where all operators hold for a value, "" where one does not, and why where nobody can say."""
    if isinstance(value, Unknown):
        return value.unknown
    try:
        return None if all(_holds(name, held, value) for name, held in wanted) else ""
    except UnknownFactError as error:
        return error.why


def together(judgements: Iterable[str | None]) -> str | None:
    """Return the same of several values, of which each has to be as wanted: one that is not decides."""
    several = set(judgements)
    return "" if "" in several else next((why for why in several if why), None)


def words(wanted: Wanted, show: Callable[[Any], str] = shown) -> str:
    """Return what is wanted, for a sentence.

    Args:
        wanted: what is wanted.
        show: writes a value for people.
    """
    return " and ".join(OPERATORS[name].words(held, show) for name, held in wanted)


def wrong(name: str, wanted: str, found: str) -> str:
    """Return the sentence about what is not as wanted."""
    return f"{name}: expected {wanted}, found {found}."


def open_question(what: str, why: str) -> str:
    """Return the sentence about what nobody can say, without its full stop."""
    return f"{what} is unknown: {why}"


def _holds(name: str, held: Any, value: Any) -> bool:
    if value is None and name not in WITHOUT:
        return False
    return (value is None and name == "lacks") or OPERATORS[name].holds(held, value)
