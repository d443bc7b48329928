"""Folded texts of a summary back to names, whatever they hold."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

# No fleet is larger: a folded text that means more is somebody's joke, and is taken for one name.
MOST = 5_000_000
_PARTS = re.compile(r"(?:\[[^\[\]]*\]|[^,])+")  # between commas that stand in no brackets
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_INSIDE = re.compile(r"[0-9]{1,200}(-[0-9]{1,200})?(,[0-9]{1,200}(-[0-9]{1,200})?)*")  # a file's name is no longer


def unfolded(text: str, count: int = MOST) -> tuple[str, ...]:
    """The names that a folded text of a summary means; what means nothing stands for itself.

    ClusterShell is not asked: the names come from files and other machines, and to it some are groups, which it would
    run a program for.

    Args:
        text: the folded names.
        count: how many there are. A file may be called "gpu[1-8].json": a part that would make more names is one name.
    """
    return tuple(names(text, count))


def names(text: str, count: int = MOST) -> Iterator[str]:
    """The same names one after the other: of a large fleet all of them need much memory."""
    made = 0
    parts = _PARTS.findall(text)
    for left, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        for name in _expanded(part, count - made - left):
            yield name
            made += 1


def counted(text: str) -> int:
    """How many names a folded text means, without making them."""
    found = 0
    for part in _PARTS.findall(text):
        pieces = _BRACKETS.split(part)[1::2]
        many = prod(map(_width, pieces)) if all(map(_INSIDE.fullmatch, pieces)) else 1
        found += many if many <= MOST else 1
    return found


def shortened(text: str, room: int) -> str:
    """The first names of a folded text that fit, as a set that is whole, and how many more there are.

    Args:
        text: the folded names.
        room: columns.
    """
    if len(text) <= room:
        return text
    every = counted(text)
    room -= len(f" and {every:,} more")
    shown = ""
    for part in _PARTS.findall(text):
        before = shown + "," * bool(shown)
        if len(before) + len(part) > room:
            pieces = _BRACKETS.split(part)
            if len(pieces) == 3 and _INSIDE.fullmatch(pieces[1]):
                start, inside, end = pieces
                left = room - len(before) - len(start) - len(end) - 2
                cut = inside[: max(0, left) + 1].rpartition(",")[0] if left < len(inside) else inside
                shown = f"{before}{start}[{cut}]{end}" if cut else shown
            break
        shown = before + part
    count = counted(shown) if shown else 0
    return f"{shown} and {every - count:,} more" if shown else f"{every:,} nodes"


def _width(inside: str) -> int:
    return sum(high - low + 1 for low, high, _ in map(_ends, inside.split(",")))


def _expanded(part: str, most: int) -> Iterable[str]:
    """The names of one part: `rack[1-2]-node[01-16,20]`."""
    pieces = _BRACKETS.split(part)
    if len(pieces) == 1 or not all(map(_INSIDE.fullmatch, pieces[1::2])):
        return (part,)
    ranges = [[_ends(one) for one in piece.split(",")] for piece in pieces[1::2]]
    if prod(sum(high - low + 1 for low, high, _ in each) for each in ranges) > min(most, MOST):
        return (part,)
    choices = [
        [f"{number:0{width}d}" for low, high, width in each for number in range(low, high + 1)] for each in ranges
    ]
    return ("".join(map("".join, zip(pieces[::2], (*chosen, ""), strict=True))) for chosen in product(*choices))


def _ends(text: str) -> tuple[int, int, int]:
    """The first and the last number of a range, and their digits at least."""
    first, _, last = text.partition("-")
    low, high = int(first), int(last or first)
    return low, max(low, high), len(first)
