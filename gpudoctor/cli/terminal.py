"""What the terminal can show."""

import os
import shutil
import sys
from typing import TextIO


def columns() -> int:
    """The width to write in: the terminal's, or 80 in a log; COLUMNS overrules both."""
    if os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty():
        return max(40, shutil.get_terminal_size((80, 24)).columns)
    return 80


def colours(stream: TextIO) -> bool:
    """Whether to use colours: by NO_COLOR (no-color.org), FORCE_COLOR, TERM=dumb and the terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
