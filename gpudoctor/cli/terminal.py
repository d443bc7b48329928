"""What the terminal can show."""

import os
import select
import sys
from contextlib import suppress
from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is open and a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def columns(stream: TextIO | None = None) -> int:
    """The width to write in: the terminal's, or 80 in a log; COLUMNS overrules both.

    Args:
        stream: where it is written; None: standard output.
    """
    given, width = os.environ.get("COLUMNS", ""), 0
    stream = stream or sys.stdout
    if given.isdigit():
        width = int(given)
    elif stream is not None and is_terminal(stream):
        with suppress(OSError, ValueError):
            width = os.get_terminal_size(stream.fileno()).columns
    return max(40, width or 80)


def colours(stream: TextIO | None) -> bool:
    """Whether to use colours: by NO_COLOR (no-color.org), FORCE_COLOR, TERM=dumb and the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def write_last(text: str) -> None:
    """Write to standard error while this process ends: past its buffer, which a signal may have caught half-written.

    Where the terminal is gone, or takes nothing because somebody has stopped it (Ctrl-S), nothing is written.
    """
    with suppress(OSError, ValueError):
        if select.select([], [2], [], 0.1)[1]:
            os.write(2, text.encode())
