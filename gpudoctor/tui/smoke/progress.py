"""How far a run of smoke tests is, told by its events."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.facts import Facts
from gpudoctor.parallel import StepStarted
from gpudoctor.pipeline import Done, Judged
from gpudoctor.report.model import Report, SmokeEntry
from gpudoctor.smoketests.events import SmokeEnded, SmokeProgress, SmokeResult, SmokeStage
from gpudoctor.smoketests.plan import SmokeJob
from gpudoctor.tui.smoke.controller import SmokeUpdate

STAGES = {"import": "importing", "start": "starting", "done": "ending"}


class Course:
    """A run as it goes.

    Attributes:
        jobs: what is run, one after the other.
        entries: of each job that has begun, what the report says of it.
        title: of the job that runs; empty before the first.
        stage: what it does, in a few words.
        stopping: somebody has ended the run, and its workers are on their way out.
        ended: when the run ended (time.monotonic); None while it goes on.
        report: what it comes to, with the facts that it rests on.
        judged: the events for the session, in which verdicts, report and facts are.
        error: why it could not be run, or a fault of ours.
    """

    def __init__(self, jobs: Sequence[SmokeJob], now: float) -> None:
        self.jobs = tuple(jobs)
        self.entries: list[SmokeEntry] = []
        self.title, self.stage = "", "looking for the digits"
        self.stopping = False
        self.ended: float | None = None
        self.report: Report | None = None
        self.facts: Facts | None = None
        self.judged: list[SmokeUpdate] = []
        self.error = ""
        self._begun = self._since = now
        self._job = self._place = 0
        self._part = 0.0

    def take(self, event: SmokeUpdate, entry: SmokeEntry | None, now: float) -> None:
        """Take note of an event; `entry` is what was measured so far by the job that it tells of."""
        if isinstance(event, SmokeStage):
            self._stage(event, now)
        elif isinstance(event, SmokeProgress):
            self._part = event.done
        elif isinstance(event, SmokeResult) and entry is not None:
            self.entries[self._job :] = [entry]
        elif isinstance(event, SmokeEnded) and entry is not None:
            self.entries[self._job :] = [entry]
            self._job, self._place, self._part = self._job + 1, 0, 0.0
        elif isinstance(event, Done):
            self.entries = list(event.report.smoke)
            self.report, self.facts = event.report, event.facts
            self.judged.append(event)
        elif isinstance(event, Judged):
            self.judged.append(event)
        elif isinstance(event, StepStarted):
            self.stage = f"looking for {event.label}"

    def _stage(self, event: SmokeStage, now: float) -> None:
        stage = " ".join(filter(None, (STAGES.get(event.stage, event.stage), event.variant)))
        if (event.title, stage) != (self.title, self.stage):
            self._since = now
        self.title, self.stage, self._part = event.title, stage, 0.0
        tests = self.jobs[self._job].tests if self._job < len(self.jobs) else ()
        if event.stage in tests:
            self._place = max(self._place, tests.index(event.stage))
        elif event.stage == "done":
            self._place = len(tests)

    def end(self, now: float, error: str = "") -> None:
        """The run has ended."""
        self.ended, self.error = now, error

    # -- for people ------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self.ended is None

    @property
    def stopped(self) -> bool:
        """Whether it was ended before its end."""
        return any(entry.outcome == "stopped" for entry in self.entries)

    @property
    def place(self) -> str:
        """Which job runs, where there are several: "job 2 of 8"."""
        return f"job {min(self._job + 1, len(self.jobs))} of {len(self.jobs)}" if len(self.jobs) > 1 else ""

    @property
    def total(self) -> int:
        """How many tests there are in all jobs."""
        return sum(len(job.tests) for job in self.jobs)

    @property
    def done(self) -> int:
        """How many of them have ended."""
        return sum(len(job.tests) for job in self.jobs[: self._job]) + self._place

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1: tests, and of the one that runs the part that it tells of."""
        return min(1.0, (self.done + self._part) / self.total) if self.total else 0.0

    def seconds(self, now: float) -> tuple[float, float]:
        """How long the stage has taken, and the whole run."""
        until = now if self.ended is None else self.ended
        return until - self._since, until - self._begun


def clock(seconds: float) -> str:
    """Minutes and seconds: "0:07"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
