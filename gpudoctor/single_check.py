"""Asks a single check, so that it never skips what nobody has looked at.

A gathering leaves out what takes long: `quick` imports no framework, and smoke tests run only where somebody asks for
them. In the facts, what was left out looks like what is not there, and a check that looks for it there finds no
subject. Which checks those are is listed nowhere: facts are made in which looking at what was left out is an unknown
fact.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from gpudoctor import check_engine
from gpudoctor.check_engine import Check, Outcome, Verdict
from gpudoctor.facts import Facts, Framework, Python
from gpudoctor.maybe import Unknown, UnknownFactError
from gpudoctor.targets import framework_name

S = TypeVar("S", bound=msgspec.Struct)


def ask(one: Check[Any], facts: Facts) -> list[Verdict]:
    """The verdicts of a check; unknown, not skipped, where it would look at what was not gathered.

    Args:
        one: the check.
        facts: what it is asked about.
    """
    verdicts = check_engine.run(one, facts)
    if any(verdict.outcome is not Outcome.SKIPPED for verdict in verdicts):
        return verdicts
    return check_engine.run(one, _without(facts, ("live", "smoke"), []))


def wants_more(one: Check[Any], quick: Facts) -> bool:
    """Whether a check looks at what a quick gathering left out.

    Args:
        one: the check.
        quick: the facts of a quick gathering.
    """
    looked: list[str] = []
    check_engine.run(one, _without(quick, ("extensions", "live"), looked))
    return bool(looked)


def _without(facts: Facts, fields: tuple[str, ...], looked: list[str]) -> Facts:
    """The same facts; those of these fields that were left out are unknown to whoever looks, which is noted."""

    def framework(one: Framework) -> Framework:
        why = f"{framework_name(one)} was not imported"
        return _unknown(one, "live", why, looked) if "live" in fields and one.live is None else one

    def python(one: Python) -> Python:
        one = msgspec.structs.replace(one, frameworks=tuple(framework(each) for each in one.frameworks))
        if "extensions" in fields and isinstance(one.extensions, Unknown):
            return _unknown(one, "extensions", one.extensions.unknown, looked)
        return one

    left = msgspec.structs.replace(facts, pythons=tuple(python(one) for one in facts.pythons))
    if "smoke" in fields and not facts.smoke.runs:
        return _unknown(left, "smoke", "no smoke test was run", looked)
    return left


def _unknown(struct: S, field: str, why: str, looked: list[str]) -> S:
    """The same struct, of a class whose field is unknown."""

    def look(self: S, name: str) -> object:
        if name == field:
            looked.append(field)
            raise UnknownFactError(why)
        return object.__getattribute__(self, name)

    kind = type(struct)
    stopping: Callable[..., Any] = msgspec.defstruct(
        kind.__name__, (), bases=(kind,), namespace={"__getattribute__": look}, frozen=True, kw_only=True
    )
    made: S = stopping(**{name: getattr(struct, name) for name in kind.__struct_fields__})
    return made
