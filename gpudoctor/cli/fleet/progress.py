"""How a run over many machines stands, on standard error where that is a terminal; and what ends it early."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from gpudoctor.cli.output import complain
from gpudoctor.cli.status_line import StatusLine
from gpudoctor.fleet.runner.tracker import RunProgress
from gpudoctor.process_cleanup import SIGNALS

EVERY = 30.0  # seconds between two lines of a log
APART = 0.3  # seconds within which signals are one request: a terminal that ends sends several


class FleetProgress:
    """One line; gone at the end. Where standard error is no terminal, as in a log, a line every EVERY seconds.

    Args:
        before: how many nodes had reported before this run.
    """

    def __init__(self, before: int) -> None:
        self._line = StatusLine()
        self._before = before
        self._told: RunProgress | None = None
        self._next = time.monotonic() + EVERY

    def tell(self, standing: RunProgress) -> None:
        """Show how the run stands."""
        if standing != self._told:
            self._told = standing
            self._line.tell(said(standing, self._before) + " ...")
        if not self._line.shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY
            complain(f"{said(standing, self._before)}.")

    def end(self) -> None:
        """Take the line away."""
        self._line.end()


def said(standing: RunProgress, before: int) -> str:
    """How many nodes have reported, are running, and ended without a report."""
    parts = [f"{standing.reported + before:,} of {standing.total + before:,} nodes have reported"]
    parts += [f"{standing.running:,} running"] if standing.running else []
    parts += [f"{standing.over:,} without a report"] if standing.over else []
    return ", ".join(parts)


class Ending:
    """Whether somebody asked the run to end.

    Attributes:
        number: that of the signal; 0: nobody did.
        stop: set then.
        hurry: set when they ask again: nothing more is waited for.
    """

    def __init__(self) -> None:
        self.number = 0
        self.stop, self.hurry = Event(), Event()
        self._since = 0.0
        self._heard, self._tells = os.pipe()
        self._first, self._again = True, True

    def asked(self, number: int, _: object) -> None:
        """The handler: it takes no lock, not even those of the events, and writes two bytes at most."""
        now = time.monotonic()
        if self._first:
            self._first, self.number, self._since = False, number, now
            os.write(self._tells, b"1")
        elif self._again and now - self._since > APART:
            self._again = False
            os.write(self._tells, b"2")

    def listen(self) -> None:
        """Set the events as the handler tells, in a thread of its own, until it is closed."""
        for event in (self.stop, self.hurry):
            if not os.read(self._heard, 1):
                break
            event.set()
        os.close(self._heard)

    def close(self) -> None:
        """End the thread."""
        os.close(self._tells)


@contextmanager
def endable() -> Iterator[Ending]:
    """While it lasts, Ctrl-C, SIGTERM and SIGHUP ask the run to end; the second one ends it at once.

    A signal that was ignored when we began stays ignored, as nohup and a shell's background want it.
    """
    ending = Ending()
    Thread(target=ending.listen, daemon=True, name="interrupted").start()
    before: dict[int, Any] = {}
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, ending.asked)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        ending.close()
