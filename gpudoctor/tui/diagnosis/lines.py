"""Lines with a label in front and text that hangs beneath itself: what the detail is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from gpudoctor.report.sanitize import clean, wrapped

INDENT = 11  # columns of a label in the detail: "applies to" and a blank
LIST_INDENT = 8  # of a status in a list: "unknown" and a blank
# At the end of a line whose command goes on: what a shell reads as that, and a sign where a shell would not (quotes).
SHELL_GOES_ON, GOES_ON = "\\", "↪"


class DetailLine(NamedTuple):
    """One line on the screen.

    Attributes:
        label: what stands in the first columns.
        text: harmless.
        style: the name of a class in style.tcss, or two of them; empty: plain.
        command: which command it is a part of; None: of none.
        press: the action of a click on it; empty: none.
        look: the classes of its label.
        mark: at its end, where a command goes on in the next line; no part of the text.
    """

    label: str
    text: str
    style: str = ""
    command: int | None = None
    press: str = ""
    look: str = "heading label"
    mark: str = ""


def folded(text: str, width: int) -> list[str]:
    """Harmless lines of at most `width` columns; what has no blank is cut, a path after a slash where there is one."""
    width = max(8, width)
    lines = wrapped(clean(text).expandtabs(4), width, "  " if text.startswith("- ") else "")
    return [part for line in lines for part in _cut(line, width)]


def _cut(line: str, width: int) -> Iterator[str]:
    while cell_len(line) > width:
        part = chop_cells(line, width)[0]
        at = part.rfind("/") + 1
        part = part[:at] if at > len(part) // 2 else part
        yield part
        line = line[len(part) :]
    yield line


def hanging(label: str, text: str, width: int, style: str = "", command: int | None = None) -> list[DetailLine]:
    """A text next to its label, at most `width` columns with it."""
    parts = folded(text, width - INDENT)
    return [DetailLine(label if number == 0 else "", part, style, command) for number, part in enumerate(parts)]


def typed(label: str, command: str, width: int, number: int) -> list[DetailLine]:
    """A command on as many lines as it takes; put together they are the command: blanks in it mean something."""
    text = clean(command).expandtabs(4)
    room, whole = max(8, width - INDENT), _whole(text)
    parts: list[tuple[str, str]] = []
    at = 0
    for line in text.split("\n"):
        parts += _broken(line, whole[at : at + len(line)], room)
        at += len(line) + 1
    return [
        DetailLine("" if place else label, part, "command", number, mark=mark)
        for place, (part, mark) in enumerate(parts)
    ]


def _whole(command: str) -> list[bool]:
    """For each character, whether a shell would not let the command be broken after it: quotes, escapes, comments."""
    found: list[bool] = []
    quote, escaped, comment = "", False, "<<" in command  # what a here-document holds is text
    for at, sign in enumerate(command):
        if escaped:
            escaped = False
            found.append(True)
            continue
        if not comment and sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        comment = comment or (sign == "#" and not quote and command[at - 1 : at] in (" ", ""))
        escaped = sign == "\\" and quote != "'"
        found.append(bool(quote) or escaped or comment)
    return found


def _broken(line: str, whole: Sequence[bool], width: int) -> Iterator[tuple[str, str]]:
    """A line broken after blanks, which stay, with the mark of each part; only a word longer than a line is cut."""
    while cell_len(line) > width:
        fits = len(chop_cells(line, width - 1)[0])
        blanks = [at + 1 for at in range(fits) if line[at] == " " and line[:at].strip()]
        outside = [at for at in blanks if not whole[at - 1]]
        end = (outside or blanks or [fits])[-1]
        yield line[:end], SHELL_GOES_ON if outside else GOES_ON
        line, whole = line[end:], whole[end:]
    yield line, ""


def selected(lines: Sequence[DetailLine], start: tuple[int, int] | None, end: tuple[int, int] | None) -> str:
    """The text that the mouse has selected: a command in one line, whatever it was broken to.

    Args:
        lines: that are shown.
        start: column and row where it begins; None: with the first.
        end: column and row before which it ends; None: with the last.
    """
    first, last = start[1] if start else 0, end[1] if end else len(lines) - 1
    parts: list[str] = []
    goes_on = False
    for row, line in enumerate(lines[first : last + 1], first):
        text = f"{line.label:<{INDENT}}{line.text}"
        begin = start[0] if start and row == first else 0
        if line.command is not None:
            begin = max(begin, INDENT)
        piece = text[begin : end[0] if end and row == last else None]
        parts[len(parts) - goes_on :] = [parts[-1] + piece if goes_on else piece]
        goes_on = bool(line.mark)
    return "\n".join(parts)
