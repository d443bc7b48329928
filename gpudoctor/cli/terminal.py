"""What the terminal can show."""

import os
import sys
from contextlib import suppress
from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is open and a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def columns() -> int:
    """The width to write in: the terminal's, or 80 in a log; COLUMNS overrules both."""
    given, width = os.environ.get("COLUMNS", ""), 0
    if given.isdigit():
        width = int(given)
    elif is_terminal(sys.stdout):
        with suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(40, width or 80)


def colours(stream: TextIO | None) -> bool:
    """Whether to use colours: by NO_COLOR (no-color.org), FORCE_COLOR, TERM=dumb and the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"
