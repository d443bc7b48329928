"""Facts with one part missing: unknown, known not to be there, or an empty list; and sentences that show it."""

import re
import types
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from gpudoctor.check_engine import Verdict
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.tasks.as_typed import typed

WHY = Unknown("nobody looked")
# What no sentence may hold; code ("is not None", "x = None") may speak of None.
FAULTS = {
    "an Unknown": re.compile(r"Unknown\(|unknown='"),
    "None": re.compile(r"(?<!is )(?<!is not )(?<!= )\bNone\b"),
    "nan": re.compile(r"\bnan\b"),
    "a hole": re.compile(r"(?<!\w)\(\s*[,)]|,\s*[,)]|[:,] *[.;](?=\s|$)|:\s*$|\bbranch [.,;]"),
    "a doubled space": re.compile(r"\S  +\S"),
    "a space too much": re.compile(r"\s[,.;:)](?:\s|$)|\(\s|\s$|^\s"),
}
CODE = ("an Unknown", "None", "nan")


class Gap(NamedTuple):
    """A part of the facts that can be missing.

    Attributes:
        path: names and indexes that lead to it.
        shape: the path without indexes.
        value: what stands there instead.
    """

    path: tuple[str | int, ...]
    shape: tuple[str, ...]
    value: object

    def in_(self, facts: Facts) -> Facts:
        """The facts without it."""
        return _put(facts, self.path, self.value)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} = {self.value!r}"


def _put(node: Any, path: tuple[str | int, ...], value: object) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        return (*node[:head], _put(node[head], rest, value), *node[head + 1 :])
    return msgspec.structs.replace(node, **{head: _put(getattr(node, head), rest, value)})


def _bare(kind: Any) -> Any:
    return typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind


def _values(kind: Any) -> list[object]:
    """What can stand in place of a value of this type, and says that it is missing."""
    kind = _bare(kind)
    members = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    values: list[object] = [WHY] if Unknown in members else []
    values += [None] if type(None) in members else []
    values += [() for one in members if typing.get_origin(one) is tuple and typing.get_args(one)[-1] is Ellipsis]
    return values + [{} for one in members if typing.get_origin(one) is dict]


def _structs(kind: Any, found: dict[type, dict[str, list[object]]]) -> dict[type, dict[str, list[object]]]:
    """The classes of facts that a type reaches, and what each of their fields may be instead."""
    kind = _bare(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind is not Unknown and kind not in found:
        found[kind] = {field.name: _values(field.type) for field in msgspec.structs.fields(kind)}
        for field in msgspec.structs.fields(kind):
            _structs(field.type, found)
    for member in typing.get_args(kind):
        _structs(member, found)
    return found


PARTS = _structs(Facts, {})


class Reads:
    """Notes which fields of facts are read: what nobody reads cannot be missed."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.found: set[tuple[int, str]] = set()
        for cls in PARTS:
            patch.setattr(cls, "__getattribute__", self._getter(), raising=False)

    def _getter(self) -> Any:
        def get(part: object, name: str) -> Any:
            self.found.add((id(part), name))
            return object.__getattribute__(part, name)

        return get


def gaps(
    node: Any,
    read: set[tuple[int, str]] | None = None,
    path: tuple[str | int, ...] = (),
    shape: tuple[str, ...] = (),
) -> Iterator[Gap]:
    """All that can be missing in facts, one at a time.

    Args:
        node: the facts.
        read: the fields of which it is asked, as `Reads` notes them: what is below a field that nobody reads is not
            read either. None: all.
        path: to the node.
        shape: the path without indexes.
    """
    if isinstance(node, tuple):
        for index, member in enumerate(node):
            yield from gaps(member, read, (*path, index), shape)
        return
    for name, values in PARTS.get(type(node), {}).items():
        if read is not None and (id(node), name) not in read:
            continue
        own = getattr(node, name)
        yield from (Gap((*path, name), (*shape, name), v) for v in values if v != own)
        yield from gaps(own, read, (*path, name), (*shape, name))


def sentences(verdict: Verdict) -> Iterator[tuple[str, bool]]:
    """All that a person may read of a verdict, and whether it is a command."""
    yield verdict.message, False
    if verdict.problem:
        yield from ((line, False) for line in verdict.problem.evidence)
        yield verdict.problem.cause or "", False
    for fix in verdict.fixes:
        yield fix.message, False
        yield from ((line, True) for line in typed((*fix.tasks, *fix.undo, *((fix.verify,) if fix.verify else ()))))


def fault(text: str, command: bool = False) -> str | None:
    """What in a sentence shows that something was missing; None where nothing does."""
    wanted = CODE if command else tuple(FAULTS)
    return next((name for name in wanted if FAULTS[name].search(text)), None)
