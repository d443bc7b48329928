"""How a run over many machines stands, on standard error where that is a terminal; and what ends it early."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from gpudoctor.cli.status_line import StatusLine
from gpudoctor.fleet.running.register import Standing

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Progress:
    """One line; gone at the end.

    Args:
        before: how many nodes had reported before this run.
    """

    def __init__(self, before: int) -> None:
        self._line = StatusLine()
        self._before = before
        self._told: Standing | None = None

    def tell(self, standing: Standing) -> None:
        """Show how the run stands."""
        if standing != self._told:
            self._told = standing
            self._line.tell(said(standing, self._before) + " ...")

    def end(self) -> None:
        """Take the line away."""
        self._line.end()


def said(standing: Standing, before: int) -> str:
    """How many nodes have reported, are running, and ended without a report."""
    parts = [f"{standing.reported + before} of {standing.total + before} nodes have reported"]
    parts += [f"{standing.running} running"] if standing.running else []
    parts += [f"{standing.over} without a report"] if standing.over else []
    return ", ".join(parts)


class Ending:
    """Whether somebody asked the run to end; `number` is that of the signal, 0: nobody did."""

    def __init__(self) -> None:
        self.stop = Event()
        self.number = 0


@contextmanager
def endable() -> Iterator[Ending]:
    """While it lasts, Ctrl-C, SIGTERM and SIGHUP ask the run to end; the second one ends it at once.

    A signal that was ignored when we began stays ignored, as nohup and a shell's background want it.
    """
    ending = Ending()
    before: dict[int, Any] = {}

    def asked(number: int, _: object) -> None:
        if ending.number:
            raise KeyboardInterrupt
        ending.number = number
        ending.stop.set()

    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, asked)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
