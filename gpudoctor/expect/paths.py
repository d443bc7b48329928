"""Paths through the facts: how one is written, and the type of what it leads to, before any fact is there."""

import types
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec

from gpudoctor.expect.smoke_paths import smoke_path
from gpudoctor.facts import (
    Board,
    CondaPackage,
    DeviceNode,
    DiskModule,
    Dkms,
    DriverLibrary,
    Facts,
    Figure,
    Framework,
    Gpu,
    Need,
    Package,
    PciDevice,
    Python,
    Smoke,
)
from gpudoctor.maybe import Unknown
from gpudoctor.registry import FRAMEWORKS
from gpudoctor.targets import NAMES

# The field by which an element of a list is found where a step is no number.
KEYS: dict[type, str] = {
    Board: "address",
    CondaPackage: "name",
    DiskModule: "kernel",
    Dkms: "module",
    Figure: "name",
    Framework: "name",
    Gpu: "address",
    DriverLibrary: "soname",
    Need: "soname",
    DeviceNode: "path",
    Package: "name",
    PciDevice: "address",
    Python: "path",
}
WORDS = {
    "text": "a text",
    "whole": "a whole number",
    "number": "a number",
    "truth": "true or false",
    "list": "a list",
    "dict": "a list by name",
    "thing": "a group of facts",
}


class PathError(ValueError):
    """A path that leads nowhere, or an operator that does not fit it; the message is a sentence."""


class Leaf(NamedTuple):
    """What a path leads to.

    Attributes:
        type: as the facts declare it, without what stands for unknown and absent.
        kinds: of WORDS: text, whole, number, truth, list, dict, thing; several where a fact may be of several.
    """

    type: Any
    kinds: frozenset[str]

    @property
    def message(self) -> str:
        """What it is, for a sentence."""
        return " or ".join(WORDS[kind] for kind in WORDS if kind in self.kinds)


def split(text: str) -> tuple[str, ...]:
    """The steps of a path: with dots between them; a step that holds a dot stands between double quotes.

    Raises:
        PathError: a step is empty, or a quotation is left open.
    """
    steps, part, quoted = [], "", False
    for sign in text:
        if sign == '"':
            quoted = not quoted
        elif sign == "." and not quoted:
            steps.append(part)
            part = ""
        else:
            part += sign
    steps.append(part)
    if quoted or not all(steps):
        raise PathError('not a path: paths are dotted names, such as "gpus.*.name".')
    return tuple(steps)


def joined(steps: Sequence[str]) -> str:
    """A path as it is written."""
    return ".".join(f'"{step}"' if "." in step else step for step in steps)


def resolve(steps: Sequence[str]) -> Leaf:
    """What a path leads to.

    Raises:
        PathError: it leads nowhere; the message has the nearest path that does.
    """
    if steps[0] == "smoke" and len(steps) > 1 and steps[1] not in Smoke.__struct_fields__:
        try:
            smoke_path(steps[1:])
        except ValueError as error:
            raise PathError(str(error)) from None
        return Leaf(float, frozenset({"number"}))
    at: Any = Facts
    for number, step in enumerate(steps):
        at = _next(plain(at), step, steps[:number], steps[number + 1 :])
    return Leaf(plain(at), kinds(at))


def plain(declared: Any) -> Any:
    """A declared type without Unknown and None."""
    if get_origin(declared) in (Union, types.UnionType):
        left = [one for one in get_args(declared) if one not in (Unknown, types.NoneType)]
        return left[0] if len(left) == 1 else Union[tuple(left)]
    return declared


def kinds(declared: Any) -> frozenset[str]:
    """Of which kinds a value of this type may be."""
    at = plain(declared)
    origin = get_origin(at)
    if origin in (Union, types.UnionType):
        return frozenset().union(*(kinds(one) for one in get_args(at)))
    if origin is Annotated:
        return kinds(get_args(at)[0])
    if origin is Literal:
        return frozenset({"text"})
    known = {str: "text", int: "whole", float: "number", bool: "truth", tuple: "list", dict: "dict"}
    return frozenset({known.get(origin or at, "thing")})


def _next(at: Any, step: str, before: Sequence[str], after: Sequence[str]) -> Any:
    """The type that one more step leads to."""
    origin = get_origin(at)
    if isinstance(at, type) and issubclass(at, msgspec.Struct):
        fields = {field.name: field.type for field in msgspec.structs.fields(at)}
        if step not in fields:
            raise PathError(_no_such(step, fields, before, after))
        return fields[step]
    if origin is tuple:
        return _element(get_args(at), step, before, after)
    if origin is dict:
        return get_args(at)[1]
    raise PathError(f'{joined(before)} is {Leaf(at, kinds(at)).message}, so it has no "{step}".')


def _element(of: tuple[Any, ...], step: str, before: Sequence[str], after: Sequence[str]) -> Any:
    if of[-1] is not Ellipsis:
        if step == "*" or (step.isdecimal() and int(step) < len(of)):
            return of[int(step)] if step != "*" else Union[of]
        raise PathError(f"{joined(before)} has {len(of)} parts: use 0 to {len(of) - 1}, not {step}.")
    element = plain(of[0])
    if step == "*" or step.isdecimal() or _may_be_key(element, step):
        return element
    if element is Framework and step not in Framework.__struct_fields__:
        raise PathError(_no_such(step, NAMES, before, after, {one.area: one.module for one in FRAMEWORKS}))
    every = joined((*before, "*", step, *after))
    raise PathError(f'{joined(before)} is a list: use "{every}" for all entries, or a number instead of "*".')


def _may_be_key(element: Any, step: str) -> bool:
    """Whether a step can be the name of an element; of a field's own name a step before it was forgotten."""
    if element is Framework:
        return step in NAMES
    return element in KEYS and step not in element.__struct_fields__


def _no_such(
    step: str, names: Any, before: Sequence[str], after: Sequence[str], also: dict[str, str] | None = None
) -> str:
    close = [also[step]] if also and step in also else get_close_matches(step, names, 1, 0.6)
    where = f'unknown "{step}" in {joined(before)}.' if before else f'unknown fact "{step}".'
    if close:
        return f'{where} Did you mean "{joined((*before, close[0], *after))}"?'
    return f"{where} Possible: {', '.join(names)}."


_NOT_EXPECTED = " is not as expected"


def title_of(path: str) -> str:
    """The title of an expectation that is not met."""
    return f"{path}{_NOT_EXPECTED}"


def path_of(title: str) -> str:
    """The fact that such a title names; empty: it is none of an expectation."""
    return title.removesuffix(_NOT_EXPECTED) if title.endswith(_NOT_EXPECTED) else ""
