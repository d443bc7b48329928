"""A value that may be unknown: neither true nor false, never zero, always with its reason."""

from typing import TypeVar, Union

import msgspec

T = TypeVar("T")


class Unknown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact that could not be had, and why, in the words of whoever looked.

    In JSON it is ``{"unknown": "NVML: Not Supported"}``.
    """

    unknown: str = "not gathered"


Maybe = Union[T, Unknown]


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


def known_or(fact: Maybe[T], fallback: T) -> T:
    """Return the fact, or the fallback: only for evidence and texts, never for a verdict."""
    return fallback if isinstance(fact, Unknown) else fact
