"""Lines with a label in front of text that hangs beneath itself, broken for a width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.diagnosis.lines import folded


class LabeledLine(NamedTuple):
    """A label and what belongs to it.

    Attributes:
        label: what it is; empty where the text stands alone.
        text: of any length; it need not be harmless.
        style: heading, dim, fail, warn, pass, or nothing.
    """

    label: str
    text: str
    style: str = ""


class ScreenRow(NamedTuple):
    """What stands on one row of the screen, harmless and no wider than it."""

    label: str
    text: str
    style: str


def laid_out(lines: Iterable[LabeledLine], width: int) -> list[ScreenRow]:
    """The rows for a width in columns."""
    made = list(lines)
    most = min(24, max(14, width // 4))
    column = min(most, max((cell_len(clean(line.label)) for line in made if line.text), default=0)) + 2
    return [row for line in made for row in _rows(line, width, column)]


def _rows(line: LabeledLine, width: int, column: int) -> Iterator[ScreenRow]:
    if not line.label:
        yield from (ScreenRow("", part, line.style) for part in folded(line.text, width))
        return
    label = clean(line.label)
    if cell_len(label) > column - 2:  # a long name has a row of its own
        yield from (ScreenRow("", part, "") for part in folded(line.label, width))
        label = ""
    for part in folded(line.text, width - column):
        yield ScreenRow(label + " " * (column - cell_len(label)), part, line.style)
        label = ""
