"""Keeps account of a run while an engine tells of it: what a line or an end means for a node, and that it is noted."""

import time
from collections.abc import Iterable
from threading import Event, Lock
from typing import NamedTuple

from gpudoctor.fleet.runner import protocol, report_store
from gpudoctor.fleet.runner.engine import FleetTarget, NodeLine, Over
from gpudoctor.fleet.runner.ledger import STATES, LedgerError
from gpudoctor.fleet.runner.run_directory import RunDirectory

REPORTED = "reported"
_LONGEST = 1000  # letters of a reason, which may quote a launcher


class RunProgress(NamedTuple):
    """How a run stands.

    Attributes:
        total: nodes that are asked this time.
        reported: of these, how many have.
        running: said hello and are not over.
        over: ended without a report.
    """

    total: int
    reported: int
    running: int
    over: int


class NodeTrace(NamedTuple):
    """What is known of a node when it ends without a report.

    Attributes:
        began: it said hello, or more.
        half: a part of a report came.
        unreadable: why what it sent is no report; empty: it sent none.
    """

    began: bool
    half: bool = False
    unreadable: str = ""


def resolved(state: str, why: str, seen: NodeTrace) -> tuple[str, str]:
    """The state of a node without a report, and a sentence.

    Args:
        state: what its engine says.
        why: in the engine's words; may be empty.
        seen: what came from the node itself, which weighs more.
    """
    if state not in STATES or state == REPORTED:
        state, why = "failed", why or "Its engine reports it as done, but it sent no report."
    if seen.began and state in ("refused", "not asked"):
        state = "failed"
    if not seen.began and state == "failed" and not why:
        state = "unreachable"
    why = why or _WHY[state]
    if seen.unreadable:
        return state, f"{why} {seen.unreadable}"
    return state, f"{why} Its report arrived incomplete." if seen.half else why


_WHY = {
    "failed": "It started, but ended without a report.",
    "timed out": "It did not finish within its limit.",
    "unreachable": "It sent nothing, and its engine gives no reason.",
    "refused": "It was refused without a reason.",
    "not asked": "It was not checked.",
}


class Register:
    """Takes what an engine tells, from any thread: lands reports, and notes each node once.

    A report that comes after its node was given up is landed and noted all the same.

    Args:
        folder: where reports land, and whose ledger is kept.
        targets: that are asked; what comes of others is dropped.
        stop: set when nothing more can be written.
        gpus: whether the ledger notes how many GPUs a node should find.
    """

    def __init__(self, folder: RunDirectory, targets: Iterable[FleetTarget], stop: Event, gpus: bool = True) -> None:
        self.error = ""  # why the run cannot go on, a sentence; empty: it can
        self._folder, self._stop = folder, stop
        self._gpus = {one.node: one.gpus if gpus else None for one in targets}
        self._left = dict.fromkeys(self._gpus)
        self._total = len(self._left)
        self._states: dict[str, str] = {}
        self._hellos: dict[str, float] = {}
        self._unreadable: dict[str, str] = {}
        self._lines = protocol.Assembler(frozenset(self._left))
        self._lock = Lock()
        self._closed = False

    def tell(self, line: NodeLine | Over) -> None:
        """Take a line or an end."""
        with self._lock:
            if self._closed:
                return
            if isinstance(line, Over):
                self._over(line)
            else:
                self._line(line)

    def standing(self) -> RunProgress:
        """How the run stands."""
        with self._lock:
            reported = sum(state == REPORTED for state in self._states.values())
            running = sum(node in self._left for node in self._hellos)
            return RunProgress(self._total, reported, running, len(self._states) - reported)

    def not_asked(self, node: str, why: str) -> None:
        """Note a node that nobody will ask."""
        with self._lock:
            self._note(node, "not asked", why)

    def give_up(self, seconds: float) -> None:
        """Note those as timed out whose first line came longer ago, for whom no engine speaks any more."""
        with self._lock:
            now = time.monotonic()
            for node in [node for node, at in self._hellos.items() if node in self._left and now - at > seconds]:
                self._note(node, "timed out", f"It started, then sent nothing for {seconds:.0f} s.")

    def close(self, stopped: bool, why: str = "") -> None:
        """Note all that are left, and take nothing more.

        Args:
            stopped: whether the run was ended before its end.
            why: it was; a sentence.
        """
        with self._lock:
            why = self.error or why
            for node in list(self._left):
                seen = self._seen(node)
                if stopped or why:
                    self._stopped(node, seen, why)
                else:
                    self._note(node, *resolved("failed", "Its engine ended without reporting on it.", seen))
            self._closed = True

    def _line(self, line: NodeLine) -> None:
        found = self._lines.feed(line.text, line.node)
        if isinstance(found, protocol.Hello):
            self._hellos.setdefault(found.node, time.monotonic())
        elif found is not None and self._states.get(found.node) != REPORTED:
            self._land(found.node, found.data)

    def _over(self, over: Over) -> None:
        if over.node not in self._left:
            return
        seen = self._seen(over.node)
        if self._stop.is_set() and over.state in ("failed", "unreachable"):  # its launcher was ended, by us or with us
            self._stopped(over.node, seen)
        else:
            self._note(over.node, *resolved(over.state, over.why, seen))

    def _stopped(self, node: str, seen: NodeTrace, why: str = "") -> None:
        """Note a node of a run that was ended early: that is no fault of the node's."""
        if seen.began:
            self._note(node, *resolved("failed", why or "The run was stopped before its report arrived.", seen))
        else:
            self._note(node, "not asked", why or "The run was stopped before it was checked.")

    def _land(self, node: str, data: bytes) -> None:
        try:
            report_store.land(self._folder.reports, node, data)
        except report_store.NoReportError as error:
            self._unreadable[node] = str(error)
        except OSError as error:
            why = f"{self._folder.reports} cannot be written: {error.strerror or error}."
            self._note(node, "failed", why)
            self._end(why)
        else:
            self._note(node, REPORTED)

    def _seen(self, node: str) -> NodeTrace:
        half = self._lines.half(node)
        unreadable = self._unreadable.get(node, "")
        return NodeTrace(node in self._hellos or half or bool(unreadable), half, unreadable)

    def _note(self, node: str, state: str, why: str = "") -> None:
        begun = self._hellos.get(node)
        seconds = None if begun is None else round(time.monotonic() - begun, 1)
        self._left.pop(node, None)
        self._lines.forget(node)
        self._states[node] = state
        earlier = self._folder.ledger.entries.get(node)
        if state == "not asked" and self._stop.is_set() and earlier and earlier.state != state:
            return  # what an earlier run found out about it holds until it is asked again
        try:
            self._folder.ledger.note(node, state, why[:_LONGEST], seconds, self._gpus.get(node))
        except LedgerError as error:
            self._end(str(error))

    def _end(self, why: str) -> None:
        self.error = self.error or why
        self._stop.set()
