"""What the demos' machines have nothing of: clusters, clouds, other vendors' drivers, other systems."""

from typing import Any

import msgspec

from gpudoctor.facts import Facts, ServiceLog
from gpudoctor.maybe import Unknown

# What a machine of the demos has, where None, False and an empty list are not it.
TRUE = {"architecture": "x86_64"}


def settled(facts: Facts) -> Facts:
    """The facts with everything that no recipe names: there is none of it."""
    found: Facts = _walk(msgspec.structs.replace(facts, services=ServiceLog(lines=())))
    return found


def _walk(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(_walk(one) for one in node)
    if not isinstance(node, msgspec.Struct) or isinstance(node, Unknown):
        return node
    types = {field.name: field.type for field in msgspec.inspect.type_info(type(node)).fields}  # type: ignore[attr-defined]
    values = {name: getattr(node, name) for name in node.__struct_fields__}
    return type(node)(**{n: _none(n, types[n]) if v == Unknown() else _walk(v) for n, v in values.items()})


def _none(name: str, kind: Any) -> Any:
    if name in TRUE:
        return TRUE[name]
    kinds = {type(one).__name__ for one in getattr(kind, "types", (kind,))}
    if "NoneType" in kinds:
        return None
    for word, value in (("BoolType", False), ("VarTupleType", ()), ("IntType", 0), ("FloatType", 0.0)):
        if word in kinds:
            return value
    raise TypeError(f"{name} has to be named in the demo's recipe")
