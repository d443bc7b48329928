"""Folded texts of a summary back to names, whatever they hold."""

import re
from collections.abc import Iterable
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
    names: list[str] = []
    parts = _PARTS.findall(text)
    for left, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        names += _expanded(part, count - len(names) - left)
    return tuple(names)


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
