"""The operators: which facts each suits, what it takes, and whether it holds."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec

from gpudoctor.expect.paths import Leaf, PathError
from gpudoctor.maybe import UnknownFactError

NUMBERS = frozenset({"whole", "number"})
SCALARS = frozenset({"text", "whole", "number", "truth"})
LISTS = frozenset({"list", "dict"})


class Operator(NamedTuple):
    """One operator.

    Attributes:
        name: as it is written.
        suits: kinds of facts (gpudoctor.expect.paths.WORDS).
        takes: what is written after it, for people and for the page of the documentation.
        held: the value that is compared with, out of what was written; raises ValueError where that is another thing.
        holds: whether it holds for a fact that is there.
        words: what is wanted, after "expected"; takes the value, and what writes a value for people.
    """

    name: str
    suits: frozenset[str]
    takes: str
    held: Callable[[Any, Leaf], Any]
    holds: Callable[[Any, Any], bool]
    words: Callable[[Any, Callable[[Any], str]], str]

    def read(self, given: Any, leaf: Leaf) -> Any:
        """What to compare with.

        Raises:
            PathError: the operator does not suit the fact, or takes another thing.
        """
        if not self.suits & leaf.kinds:
            fit = ", ".join(one.name for one in OPERATORS.values() if one.suits & leaf.kinds)
            raise PathError(f'it is {leaf.message}, so "{self.name}" cannot be used; possible: {fit}.')
        try:
            return self.held(given, leaf)
        except (ValueError, TypeError, msgspec.ValidationError):
            raise PathError(f'"{self.name}" takes {self.taken(leaf)}, not {shown(given)}.') from None

    def taken(self, leaf: Leaf) -> str:
        """What it takes beside a fact of this type."""
        return self.takes if self.takes != "a value" else _form(leaf)


def _form(leaf: Leaf) -> str:
    """What values of a type look like: their kind, and their form where the facts hold to one."""
    of = get_args(leaf.type)
    if get_origin(leaf.type) is Literal:
        return f"one of {', '.join(shown(one) for one in of)}"
    form = next((one for one in of if isinstance(one, msgspec.Meta) and one.pattern), None)
    return (form.description or f"{leaf.message} of the form {form.pattern}") if form else leaf.message


def shown(value: Any) -> str:
    """A value as one would write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple | list):
        return f"[{', '.join(shown(one) for one in value)}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# -- what is written -----------------------------------------------------------------------------------------


def _scalar(given: Any, leaf: Leaf) -> Any:
    if not isinstance(given, str | int | float):
        raise ValueError
    return msgspec.convert(given, leaf.type, strict=True)


def _scalars(given: Any, leaf: Leaf) -> tuple[Any, ...]:
    if not isinstance(given, list) or not given:
        raise ValueError
    return tuple(_scalar(one, leaf) for one in given)


def _number(given: Any, _: Leaf) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise ValueError
    return given


def _two(given: Any, leaf: Leaf) -> tuple[float, float]:
    low, high = (_number(one, leaf) for one in given)
    if low > high:
        raise ValueError
    return low, high


def _text(given: Any, _: Leaf) -> str:
    if not isinstance(given, str) or not given:
        raise ValueError
    return given


def _truth(given: Any, _: Leaf) -> bool:
    if not isinstance(given, bool):
        raise ValueError
    return given


def _specifier(given: Any, leaf: Leaf) -> tuple[str, Any]:
    from packaging.specifiers import SpecifierSet

    return given, SpecifierSet(_text(given, leaf), prereleases=True)  # whose error is a ValueError


def _count(given: Any, leaf: Leaf) -> tuple[Any, Any]:
    """A whole number, or a comparison with one, which reads as that of a version does."""
    if isinstance(given, bool) or (isinstance(given, int) and given < 0):
        raise ValueError
    text = f"=={given}" if isinstance(given, int) else str(_text(given, leaf))
    return given, _specifier(text, leaf)[1]


# -- what holds ----------------------------------------------------------------------------------------------


def _fits(wanted: tuple[str, Any], value: Any) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return bool(wanted[1].contains(Version(str(value))))
    except InvalidVersion:
        raise UnknownFactError(f'"{value}" is not a comparable version') from None


def _contains(wanted: str, value: Any) -> bool:
    if isinstance(value, str):
        return wanted.lower() in value.lower()
    return any(wanted.lower() == str(one).lower() for one in value)


def _present(wanted: bool, value: Any) -> bool:
    """Whether there is such a thing: an empty list is none."""
    there = value is not None and (not isinstance(value, tuple | dict | str) or bool(value))
    return there is wanted


OPERATORS = {
    one.name: one
    for one in (
        Operator("is", SCALARS, "a value", _scalar, lambda wanted, value: bool(value == wanted),
            lambda wanted, show: show(wanted),
        ),
        Operator(
            "one_of", SCALARS, "a list of values of the fact's type", _scalars,
            lambda wanted, value: value in wanted, lambda wanted, show: f"one of {show(wanted)}",
        ),
        Operator(
            "version", frozenset({"text"}), 'a version specifier such as ">=580"', _specifier, _fits,
            lambda wanted, _: wanted[0],
        ),
        Operator(
            "at_least", NUMBERS, "a number", _number, lambda wanted, value: bool(value >= wanted),
            lambda wanted, show: f"at least {show(wanted)}",
        ),
        Operator(
            "at_most", NUMBERS, "a number", _number, lambda wanted, value: bool(value <= wanted),
            lambda wanted, show: f"at most {show(wanted)}",
        ),
        Operator(
            "between", NUMBERS, "a list of two numbers, the lower one first", _two,
            lambda wanted, value: bool(wanted[0] <= value <= wanted[1]),
            lambda wanted, show: f"{show(wanted[0])} to {show(wanted[1])}",
        ),
        Operator(
            "contains", frozenset({"text"}) | LISTS, "a text", _text, _contains,
            lambda wanted, show: f"something with {show(wanted)}",
        ),
        Operator(
            "lacks", frozenset({"text"}) | LISTS, "a text", _text,
            lambda wanted, value: not _contains(wanted, value), lambda wanted, show: f"nothing with {show(wanted)}",
        ),
        Operator(
            "matches", frozenset({"text"}), 'a string with the wildcards "*" and "?"', _text,
            lambda wanted, value: fnmatchcase(value, wanted), lambda wanted, show: f"a match of {show(wanted)}",
        ),
        Operator(
            "count", LISTS, 'a whole number, or a comparison such as ">=8"', _count,
            lambda wanted, value: bool(wanted[1].contains(str(len(value)))), lambda wanted, _: f"{wanted[0]} of them",
        ),
        Operator(
            "present", SCALARS | LISTS | {"thing"}, "true or false", _truth, _present,
            lambda wanted, _: "something" if wanted else "nothing",
        ),
    )
}  # fmt: skip
WITHOUT = ("lacks", "present")  # they say something about what is not there; all others do not hold then
