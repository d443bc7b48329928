"""Looks again at one finding, in a thread: whether it is fixed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from textual import work
from textual.widgets import Static
from textual.worker import get_current_worker

from gpudoctor.machine import Machine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import CheckOptions, Done, examine
from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.tui.diagnosis import recheck
from gpudoctor.tui.diagnosis.items import Item
from gpudoctor.tui.diagnosis.recheck import Trial
from gpudoctor.tui.session import Session, SessionSource


class Trials(Static):
    """Keeps what came of each trial; it shows nothing itself, and tells `changed` when there is something new.

    Attributes:
        done: by key of the finding.
        check: the id that is tried now; None: none is.
        progress: how many probes have ended, of how many.
    """

    DEFAULT_CSS = "Trials { display: none; }"

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self.done: dict[str, Trial] = {}
        self.check: str | None = None
        self.progress = (0, 0)
        self._changed = changed
        self._report: Report | None = None
        self._machine: Machine | None = None
        self._after = ""

    def follow(self, session: Session) -> None:
        """What was tried is of yesterday once everything is checked again."""
        if session.running and self.check:
            self.workers.cancel_node(self)
            self._halt()
            self.check = None
        if session.report is not self._report:
            self.done.clear()
            self._report = session.report

    def begin(self, item: Item, session: Session, after: str = "") -> str | None:
        """Try again; gives the reason where that is not possible.

        Args:
            item: what is selected.
            session: the model.
            after: a sentence to add to what comes of it.
        """
        if not session.source.live:
            return session.source.recorded
        if session.running:
            return "The probes are still running: try again when they have finished."
        if self.check:
            return f"{self.check} is being tried again; one at a time."
        if item.finding is None or session.report is None:
            return "Only a finding can be re-checked."
        root = item.key.split(" > ")[0]
        self.check, self.progress, self._after = item.finding.check, (0, 0), after
        only = recheck.asked(item.finding.check, session.verdicts)
        self._try(root, item.finding, session.source, only, session.report)
        self._changed()
        return None

    def _halt(self) -> None:
        """End the children that run for the trial."""
        if self._machine is not None:
            self._machine.halt()

    def on_unmount(self) -> None:
        """Nobody waits for it any more."""
        self._halt()

    @work(thread=True, exclusive=True, group="trial", exit_on_error=False)
    def _try(self, key: str, old: FindingEntry, source: SessionSource, only: tuple[str, ...], before: Report) -> None:
        worker, app = get_current_worker(), self.app
        begun = ended = 0
        options = CheckOptions(pythons=source.options.pythons, quick=source.options.quick, only=only)
        try:
            self._machine = machine = source.make()
            if worker.is_cancelled:
                return
            for event in examine(machine, options):
                if worker.is_cancelled:
                    return
                begun += isinstance(event, StepStarted)
                ended += isinstance(event, StepEnded)
                if isinstance(event, Done):
                    app.call_from_thread(self._end, worker, key, recheck.outcome(old, before, event.report))
                elif isinstance(event, StepStarted | StepEnded):
                    app.call_from_thread(self._tell, worker, (ended, begun))
        except Exception as error:
            if not worker.is_cancelled:
                failed = Trial(state="unknown", remark=f"The re-check failed: {type(error).__name__}: {error}")
                app.call_from_thread(self._end, worker, key, failed)

    def _tell(self, worker: object, progress: tuple[int, int]) -> None:
        if not getattr(worker, "is_cancelled", False):
            self.progress = progress
            self._changed()

    def _end(self, worker: object, key: str, came: Trial) -> None:
        if not getattr(worker, "is_cancelled", False):
            came = msgspec.structs.replace(came, remark=f"{came.remark} {self._after}".rstrip())
            self.done[key], self.check = came, None
            self._changed()
            self.notify(came.remark, severity="information" if came.state == "fixed" else "warning", markup=False)
