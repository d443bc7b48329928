"""One line on standard error that says what goes on, written over and over; gone at the end."""

import os
import sys

from gpudoctor.cli.terminal import columns, is_terminal, write_last
from gpudoctor.process_cleanup import at_end, not_at_end

TAKEN_AWAY = "\r\x1b[K"


class StatusLine:
    """The line; where standard error is no terminal, or is lost meanwhile, nothing is written.

    Attributes:
        shown: whether somebody can see it.
    """

    def __init__(self) -> None:
        self.shown = is_terminal(sys.stderr) and os.environ.get("TERM") != "dumb"
        self._there = False

    def tell(self, text: str) -> None:
        """Show a text in the place of the one before."""
        if self.shown:
            from gpudoctor.report.sanitize import clean

            if not self._there:
                self._there = True
                at_end(_take_away)
            self._write(" ".join(clean(text).split()))

    def end(self) -> None:
        """Take the line away."""
        if self.shown and self._there:
            self._there = False
            self._write("")
            not_at_end(_take_away)

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(TAKEN_AWAY + text[: columns(sys.stderr) - 1])
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal is gone, and what goes on is not about it
            self.shown = False


def _take_away() -> None:
    write_last(TAKEN_AWAY)
