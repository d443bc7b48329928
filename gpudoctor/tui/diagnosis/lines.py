"""Lines with a label in front and text that hangs beneath itself: what the detail is made of."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from gpudoctor.report.sanitize import clean

INDENT = 11  # columns of a label in the detail: "applies to" and a blank
LIST_INDENT = 8  # of a status in a list: "unknown" and a blank


class DetailLine(NamedTuple):
    """One line on the screen.

    Attributes:
        label: what stands in the first columns.
        text: harmless.
        style: the name of a class in style.tcss, or two of them; empty: plain.
        command: which command it is a part of; None: of none.
        press: the action of a click on it; empty: none.
        look: the classes of its label.
    """

    label: str
    text: str
    style: str = ""
    command: int | None = None
    press: str = ""
    look: str = "heading label"


def folded(text: str, width: int) -> list[str]:
    """Harmless lines of at most `width` columns; what has no blank is cut."""
    width = max(8, width)
    lines: list[str] = []
    for paragraph in clean(text).expandtabs(4).splitlines() or [""]:
        broken = textwrap.wrap(paragraph, width, break_on_hyphens=False, drop_whitespace=True) or [""]
        for line in broken:
            lines += [line] if cell_len(line) <= width else chop_cells(line, width)
    return lines


def hanging(label: str, text: str, width: int, style: str = "", command: int | None = None) -> list[DetailLine]:
    """A text next to its label, at most `width` columns with it."""
    parts = folded(text, width - INDENT)
    return [DetailLine(label if number == 0 else "", part, style, command) for number, part in enumerate(parts)]


def typed(label: str, command: str, width: int, number: int) -> list[DetailLine]:
    """A command on as many lines as it takes; put together they are the command: blanks in it mean something."""
    room = max(8, width - INDENT)
    parts = [part for line in clean(command).expandtabs(4).splitlines() or [""] for part in _broken(line, room)]
    return [DetailLine(label if place == 0 else "", part, "command", number) for place, part in enumerate(parts)]


def _broken(line: str, width: int) -> Iterator[str]:
    """A line broken after blanks, which stay; what has none is cut."""
    while cell_len(line) > width:
        head = chop_cells(line, width)[0]
        blank = head.rfind(" ") + 1
        head = head[:blank] if head[:blank].strip() else head
        yield head
        line = line[len(head) :]
    yield line
