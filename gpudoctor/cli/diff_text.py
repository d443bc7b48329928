"""A comparison as text: beside each other where both sides fit on a line, beneath each other where not."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len

from gpudoctor.comparison import Comparison, Difference, DifferenceGroup
from gpudoctor.comparison.model import TITLES
from gpudoctor.report.sanitize import clean, wrapped

ABSENT = "-"
GAP, INDENT = 2, 2
NOTHING = "No relevant differences (time, load, temperature, processes and serial numbers are ignored)."


def render(comparison: Comparison, width: int = 80, colour: bool = False, everything: bool = False) -> str:
    """The comparison as text.

    Args:
        comparison: what to show.
        width: columns.
        colour: whether ANSI colours are wanted.
        everything: also what matters little, and what one side does not know.
    """
    rows = comparison.rows if everything else comparison.matters
    lines = [*_sides(comparison, width)]
    for group, some in groupby(rows, key=lambda row: row.group):
        lines += ["", _bold(TITLES[group], colour), *_table(list(some), width)]
    lines += ["", *wrapped(_summary(comparison, len(rows)), width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sides(comparison: Comparison, width: int) -> Iterator[str]:
    for mark, title in (("A", comparison.here), ("B", comparison.there)):
        yield from _hanging(f"{mark}  ", clean(title), width)


def _table(rows: Sequence[Difference], width: int) -> Iterator[str]:
    """The rows of a group: those that fit on a line in columns, the others on lines of their own, in their order."""
    path = max((cell_len(row.label) for row in rows if cell_len(row.label) <= width * 2 // 5), default=0)
    side = (width - INDENT - path - 2 * GAP) // 2
    for row in rows:
        here, there = row.here or ABSENT, (row.there or ABSENT) + more(row)
        name = clean(row.label)
        if cell_len(name) <= path and max(cell_len(here), cell_len(there)) <= side and "\n" not in here + there:
            yield " " * INDENT + _filled(name, path + GAP) + _filled(here, side + GAP) + there
            continue
        yield " " * INDENT + name
        yield from _hanging(" " * 2 * INDENT + "A  ", here, width)
        yield from _hanging(" " * 2 * INDENT + "B  ", there, width)


def more(row: Difference) -> str:
    """How much more there is on the other side, for a number."""
    if row.change is None:
        return ""
    return f" ({row.change:+.0%})" if abs(row.change) < 10 else f" (x{row.change + 1:.0f})"


def _summary(comparison: Comparison, shown: int) -> str:
    if not comparison.rows:
        return NOTHING
    unknown = sum(row.state.unknown for row in comparison.rows)
    others = sum(row.group is DifferenceGroup.REST and not row.state.unknown for row in comparison.rows)
    parts = [_many(len(comparison.matters), "relevant difference", "relevant differences")]
    parts += [_many(others, "other", "others")] * bool(others)
    parts += [f"{unknown} unknown on one side"] * bool(unknown)
    reported = ", ".join(parts) + (" (--all lists them)" if shown < len(comparison.rows) else "") + "."
    return reported if comparison.whole else f"{reported} One side is a report, which contains less than facts."


def _many(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _hanging(label: str, text: str, width: int) -> Iterator[str]:
    for line in wrapped(text, max(20, width - len(label))):
        yield label + line
        label = " " * len(label)


def _filled(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_len(text))


def _bold(text: str, colour: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if colour else text
