"""The rows of a comparison as somebody wants to see them: which ones, and how they fit next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from gpudoctor.comparison import Comparison, Difference, DifferenceGroup
from gpudoctor.comparison.model import TITLES

ABSENT = "—"
GAP = 2


class Filter(NamedTuple):
    """Which rows somebody wants to see.

    Attributes:
        words: that a row has to hold; empty: any.
        all: those too that matter little.
        unknown: those too of which one side is unknown.
    """

    words: str = ""
    all: bool = True
    unknown: bool = True

    def shows(self, row: Difference) -> bool:
        """Whether a row is wanted."""
        if (row.group is DifferenceGroup.REST and not self.all) or (row.state.unknown and not self.unknown):
            return False
        words = self.words.strip().casefold()
        return not words or any(words in text.casefold() for text in (row.label, row.path, row.here, row.there))


def grouped(rows: Sequence[Difference], wanted: Filter) -> list[tuple[str, list[Difference]]]:
    """The wanted rows under their headings."""
    shown = [row for row in rows if wanted.shows(row)]
    return [(TITLES[group], list(some)) for group, some in groupby(shown, key=lambda row: row.group)]


class Columns(NamedTuple):
    """How wide the labels, here and there are."""

    label: int
    here: int
    there: int


def columns(rows: Sequence[Difference], width: int) -> Columns:
    """The columns for a width: labels get what they need up to two fifths, the sides share the rest."""
    longest = max((cell_len(row.label) for row in rows), default=0)
    label = max(12, min(longest, width * 2 // 5))
    rest = max(16, width - label - 2 * GAP)
    return Columns(label, rest // 2, rest - rest // 2)


def cells(row: Difference, wide: Columns) -> tuple[str, str, str]:
    """A row's texts, each as wide as its column."""
    here, there = row.here or ABSENT, (row.there or ABSENT) + more(row)
    return (
        _fitted(_shortened(row, wide.label), wide.label),
        _fitted(_telling(here, there, wide.here), wide.here),
        _fitted(_telling(there, here, wide.there), wide.there),
    )


def more(row: Difference) -> str:
    """How much more there is than here, for a number."""
    return (
        "" if row.change is None else f" ({row.change:+.0%})" if abs(row.change) < 10 else f" (x{row.change + 1:.0f})"
    )


def _telling(text: str, other: str, width: int) -> str:
    """A text on one line, without a long beginning that both sides share where it would not fit."""
    text, other = " ".join(text.split()), " ".join(other.split())
    if cell_len(text) <= width:
        return text
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))
    begin = common - width // 3
    text = f"…{text[begin:]}" if begin > 1 else text
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def _shortened(row: Difference, width: int) -> str:
    """The end of a path, or the beginning of a label or of a check's ID: which says what it is."""
    if cell_len(row.label) <= width:
        return row.label
    if row.group is DifferenceGroup.FINDINGS or row.label != row.path:
        return f"{row.label[: width - 1]}…"
    return f"…{row.label[len(row.label) - width + 1 :]}"


def _fitted(text: str, width: int) -> str:
    return set_cell_size(text, width)


def summary(comparison: Comparison, wanted: Filter) -> str:
    """What came of it, in a sentence."""
    rows = comparison.rows
    if not rows:
        return "No relevant differences (time, load, temperatures, processes and serial numbers are ignored)."
    unknown = sum(row.state.unknown for row in rows)
    others = len(rows) - len(comparison.matters) - unknown
    matter = len(comparison.matters)
    parts = [
        "1 difference that matters" if matter == 1 else f"{matter} differences that matter",
        f"{others} other{'s' * (others != 1)}",
        f"{unknown} unknown on one side",
    ]
    shown = sum(wanted.shows(row) for row in rows)
    said = ", ".join(parts) + (f"; {shown} shown" if shown < len(rows) else "") + "."
    return said if comparison.whole else f"{said} One side is a report, which has less detail than facts."


def named(row: Difference) -> str:
    """What differs, with its place in the facts where that is called something else."""
    return row.label if row.label == row.path else f"{row.label} ({row.path})"


def whole(row: Difference, here: str, there: str) -> str:
    """A row as text for the clipboard."""
    return f"{named(row)}\n{here}: {row.here or ABSENT}\n{there}: {row.there or ABSENT}{more(row)}"
