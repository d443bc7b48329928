"""All facts as a tree of plain values: what stands where, and where a word occurs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.comparison.value_text import counted, is_unknown, text
from gpudoctor.facts import Facts
from gpudoctor.report.sanitize import clean

Place = tuple[str | int, ...]
LONGEST = 300  # characters of a value on its row: a stderr of pages belongs to the whole value


def plain(facts: Facts) -> Any:
    """The facts as dictionaries, lists and values."""
    return msgspec.to_builtins(facts)


def at(tree: Any, place: Place) -> Any:
    """What stands at a place.

    Raises:
        KeyError, IndexError, TypeError: there is no such place in this tree.
    """
    for key in place:
        tree = tree[key]
    return tree


def children(node: Any) -> list[tuple[str | int, Any]]:
    """What lies below a node, in order; nothing below a value, an unknown one too."""
    if isinstance(node, dict) and not is_unknown(node):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, (list, tuple)) else []


def value_of(node: Any) -> str:
    """What is said of a node next to its key: its value, of a part its name or how much it holds."""
    if isinstance(node, (list, tuple)):
        return (
            counted(len(node)) if any(isinstance(one, (dict, list, tuple)) for one in node) else _short(text(node), 60)
        )
    if isinstance(node, str):
        return _short(clean(node).replace("\n", " ")) or '""'
    return _short(text(node))


def _short(line: str, most: int = LONGEST) -> str:
    return line if len(line) <= most else f"{line[:most]}…"


def dotted(place: Place) -> str:
    """A place as it is written: "gpus.0.name"."""
    return clean(".".join(map(str, place)))


def copied(tree: Any, place: Place) -> str:
    """A place and its whole value, as text for the clipboard."""
    node = at(tree, place)
    value = f"unknown: {node['unknown']}" if is_unknown(node) else _json(node)
    return f"{dotted(place) or 'facts'} = {clean(value)}"


def _json(node: Any) -> str:
    return json.dumps(node, indent=2 if children(node) else None, ensure_ascii=False)


def search(tree: Any, words: str) -> list[Place]:
    """The places whose key, or whose value, holds the words, in the order of the tree."""
    wanted = words.casefold()
    return [place for place, said in _walk(tree, ()) if wanted in said] if wanted else []


def _walk(node: Any, place: Place) -> Iterator[tuple[Place, str]]:
    for key, child in children(node):
        there = (*place, key)
        below = children(child)
        own = "" if below else f" {_said(child)}"
        yield there, f"{key}{own}".casefold()
        if below:
            yield from _walk(child, there)


def _said(value: Any) -> str:
    """A value as somebody might search for it: as people read it, and as JSON holds it."""
    if isinstance(value, bool):
        return "yes true" if value else "no false"
    if is_unknown(value):
        return f"unknown: {value['unknown']}"
    return "none null" if value is None else str(value)
