"""Walks through facts and reports."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec


def walk(node: Any, replace: Callable[[str], str]) -> Any:
    """The same tree with each string replaced; keys stay, because they are names of fields and variables."""
    if isinstance(node, str):
        return replace(node)
    if isinstance(node, tuple):
        return tuple(walk(one, replace) for one in node)
    if isinstance(node, dict):
        return {key: walk(one, replace) for key, one in node.items()}
    if isinstance(node, msgspec.Struct):
        return type(node)(**{name: walk(getattr(node, name), replace) for name in node.__struct_fields__})
    return node


def strings(node: Any) -> Iterator[str]:
    """Each string of a tree, in its order."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, (tuple, dict)):
        for one in node.values() if isinstance(node, dict) else node:
            yield from strings(one)
    elif isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            yield from strings(getattr(node, name))
