"""Draws values over time as rows of text: braille dots or blocks, with a gap where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

# Dots of a braille cell from the bottom up, left and right column (Unicode 2800).
_LEFT, _RIGHT = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)
_BLOCKS = " ▁▂▃▄▅▆▇█"
_DOTS, _EIGHTHS = 4, 8  # steps in the height of a cell
FULL, EMPTY = "━", "─"


class Glyphs(NamedTuple):
    """How cells are drawn.

    Attributes:
        name: dots, blocks.
        across: values next to each other in a cell.
        steps: in the height of a cell.
    """

    name: str
    across: int
    steps: int


DOTS = Glyphs("dots", 2, _DOTS)
BLOCKS = Glyphs("blocks", 1, _EIGHTHS)  # where the font has no braille


def chart(
    values: Sequence[float | None],
    width: int,
    height: int,
    low: float,
    high: float,
    glyphs: Glyphs = DOTS,
    hanging: bool = False,
) -> list[str]:
    """Return an area chart, the newest value at its right end.

    Args:
        values: oldest first; None: unknown, which leaves a gap. Zero is drawn as one step, so that it differs.
        width: columns.
        height: rows.
        low: what the bottom stands for; a value below is drawn there.
        high: what the top stands for; likewise.
        glyphs: how.
        hanging: it grows from the top down; with blocks it stands all the same, for there are none that hang.
    """
    if width <= 0:
        return [""] * height
    room = width * glyphs.across
    shown = list(values)[-room:]
    steps = [0] * (room - len(shown)) + [_step(value, low, high, height * glyphs.steps) for value in shown]
    columns = [tuple(steps[at : at + glyphs.across]) for at in range(0, room, glyphs.across)]
    cells = _hanging() if hanging and glyphs.across > 1 else _dots() if glyphs.across > 1 else _blocks()
    rows = [_row(columns, row * glyphs.steps, glyphs.steps, cells) for row in range(height)]
    return rows if cells is _hanging() else rows[::-1]


def _step(value: float | None, low: float, high: float, steps: int) -> int:
    """How many steps are filled; 0: unknown."""
    if value is None or value != value:  # not a number
        return 0
    share = (value - low) / (high - low) if high > low else 0.0
    return max(1, round(steps * max(0.0, min(1.0, share))))


def _row(columns: Sequence[tuple[int, ...]], base: int, most: int, cells: Mapping[tuple[int, ...], str]) -> str:
    """One row: of each column what rises above `base` steps, at most a cell."""
    filled = [tuple([min(most, step - base) if step > base else 0 for step in column]) for column in columns]
    return "".join([cells[column] for column in filled])


@cache
def _dots() -> dict[tuple[int, ...], str]:
    """Cells of braille by the filled steps of their two columns."""
    return {(a, b): _braille(_LEFT[:a], _RIGHT[:b]) for a in range(_DOTS + 1) for b in range(_DOTS + 1)}


@cache
def _hanging() -> dict[tuple[int, ...], str]:
    """The same, filled from the top."""
    left, right = _LEFT[::-1], _RIGHT[::-1]
    return {(a, b): _braille(left[:a], right[:b]) for a in range(_DOTS + 1) for b in range(_DOTS + 1)}


@cache
def _blocks() -> dict[tuple[int, ...], str]:
    return {(at,): block for at, block in enumerate(_BLOCKS)}


def _braille(left: Sequence[int], right: Sequence[int]) -> str:
    bits = sum(left) + sum(right)
    return chr(0x2800 + bits) if bits else " "


def meter(value: float | None, high: float, width: int) -> tuple[str, str]:
    """Return a bar in two parts, what is used and what is left; where the value is unknown both are empty.

    Args:
        value: from 0 to `high`.
        high: what the whole bar stands for.
        width: columns.
    """
    if value is None or high <= 0 or width <= 0:
        return "", ""
    used = round(width * max(0.0, min(1.0, value / high)))
    used = max(used, 1) if value > 0 else used
    return FULL * used, EMPTY * (width - used)
