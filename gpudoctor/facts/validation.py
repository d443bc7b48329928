"""What probes found, held to the same bounds as a facts file: a value that cannot be is unknown, with what was read."""

from types import NoneType
from typing import Any, TypeVar, get_args

import msgspec

from gpudoctor.facts.tree import Facts
from gpudoctor.maybe import Unknown

S = TypeVar("S", bound=msgspec.Struct)
Lost = list[tuple[str, str]]


_FEW = 4  # parts that are looked at one by one


class _Wild:
    """Stands for a value that cannot be, until something around it can be without it."""

    def __init__(self, why: str) -> None:
        self.why = why


def sound(facts: Facts) -> Facts:
    """The facts as they are, or with each value unknown that no machine has.

    What cannot be unknown is left out and named in `failed`, so that nothing that needs it reads as a pass.
    """
    try:
        _hold(facts)
    except msgspec.ValidationError:
        lost: Lost = []
        whole: Facts = _of_struct(facts, "", lost)
        return msgspec.structs.replace(whole, failed=(*whole.failed, *lost))
    return facts


def _hold(part: msgspec.Struct) -> None:
    """Hold each value of a part to its type.

    It takes msgspec 4 ms to learn the types of all parts, so it is asked of one value after the other. Only of many
    parts of one type that is worth while: of packages.

    Raises:
        msgspec.ValidationError: a value cannot be.
    """
    kinds = type(part).__annotations__
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if isinstance(value, msgspec.Struct):
            if not isinstance(value, Unknown):
                _hold(value)
        elif isinstance(value, tuple) and value and len(value) <= _FEW and isinstance(value[0], msgspec.Struct):
            for one in value:
                _hold(one)
        elif value != () and (value is not None or NoneType not in get_args(kinds[name])):
            msgspec.convert(msgspec.to_builtins(value), kinds[name])


def of_child(kind: type[S], values: dict[str, Any]) -> S:
    """A part of the facts of what a child told of it; each value that cannot be is unknown.

    Args:
        kind: the part; what it cannot be without is taken as it stands in `values`.
        values: what was told, by field.

    Raises:
        msgspec.ValidationError: a value that has to be known cannot be.
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError:
        fields = {f.name: f.type for f in msgspec.structs.fields(kind) if f.name in values}
        return kind(**{name: _child_value(values[name], of) for name, of in fields.items()})


def _child_value(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if Unknown in get_args(kind):
            return Unknown(f"invalid output of the child process: {error}")
        raise


def _of_struct(struct: Any, place: str, lost: Lost) -> Any:
    changes = {}
    for field in msgspec.structs.fields(type(struct)):
        old, where = getattr(struct, field.name), f"{place}.{field.name}".lstrip(".")
        new = _of_value(old, field.type, where, lost)
        if isinstance(new, _Wild):
            if Unknown in get_args(field.type):
                new = Unknown(new.why)
            elif field.default is not msgspec.NODEFAULT:
                lost.append((where, new.why))
                new = field.default
            else:
                return new
        if new is not old:
            changes[field.name] = new
    return msgspec.structs.replace(struct, **changes) if changes else struct


def _of_value(value: Any, kind: Any, place: str, lost: Lost) -> Any:
    if isinstance(value, Unknown):
        return value
    if isinstance(value, msgspec.Struct):
        return _of_struct(value, place, lost)
    if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        entries = tuple(_of_value(one, None, f"{place}.{number}", lost) for number, one in enumerate(value))
        wild = next((one for one in entries if isinstance(one, _Wild)), None)
        return wild or (entries if any(new is not old for new, old in zip(entries, value, strict=True)) else value)
    try:
        msgspec.convert(msgspec.to_builtins(value), kind)
    except (msgspec.ValidationError, TypeError):
        return _Wild(f"impossible value: {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        text = "a number with thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
