"""A value that may be unknown: neither true nor false, never zero, always with its reason."""

from typing import TYPE_CHECKING, Any, TypeVar, Union

import msgspec

T = TypeVar("T")


class Unknown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that could not be found out, and why, in the words of its source.

    In JSON it is ``{"unknown": "NVML: Not Supported"}``. It has no place in a sentence: `phrase` leaves out what is not
    known, mypy refuses to print it (``scripts/mypy_words.py``), and the tests let every attempt fail. Should one reach
    a user all the same, it reads as a word, not as Python.
    """

    unknown: str = "not gathered"

    def __str__(self) -> str:
        return "unknown"

    def __format__(self, spec: str) -> str:
        return "unknown"


if TYPE_CHECKING:
    Maybe = Union[T, Unknown]
else:

    class Maybe:
        """The union itself: to fill in an alias of typing's takes ten times as long, and the facts have hundreds."""

        def __class_getitem__(cls, of: Any) -> Any:
            """The type of such values."""
            return of | Unknown


class UnknownFactError(Exception):
    """Raised by `known`; the check that asked is then UNKNOWN with this reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def known(fact: Maybe[T]) -> T:
    """Return the fact, or leave the check with the reason why it is unknown.

    Raises:
        UnknownFactError: where the fact is Unknown.
    """
    if isinstance(fact, Unknown):
        raise UnknownFactError(fact.unknown)
    return fact


def present(fact: Maybe[T | None]) -> T:
    """Return the fact where nothing can be said without one: neither Unknown nor None.

    Raises:
        UnknownFactError: where it is either.
    """
    value = known(fact)
    if value is None:
        raise UnknownFactError("there is none")
    return value


def text_of(fact: Maybe[str | None]) -> str:
    """Return the text, or the empty one where it is unknown or None: to search in, never to print alone."""
    return fact if isinstance(fact, str) else ""


def phrase(template: str, *facts: object) -> str:
    """Return a part of a sentence with the facts filled in, or nothing where one of them is Unknown or None.

    Args:
        template: what `str.format` fills, with the space or comma before it: ``", driver {}"``.
        facts: what to fill in.
    """
    return "" if any(fact is None or isinstance(fact, Unknown) for fact in facts) else template.format(*facts)


def phrases(*parts: str) -> tuple[str, ...]:
    """Return the parts that say something: for evidence, of which each line may be unknown."""
    return tuple(part for part in parts if part)


def known_or(fact: Maybe[T], fallback: T) -> T:
    """Return the fact, or the fallback: only for evidence and texts, never for a verdict."""
    return fallback if isinstance(fact, Unknown) else fact
