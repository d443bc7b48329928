"""Runs smoke tests in a thread, and turns what they tell into messages; it is never drawn."""

from __future__ import annotations

import time
from threading import Event

from textual.message import Message
from textual.widget import Widget

from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.model import SmokeEntry
from gpudoctor.smoketests.options import ChoiceError, SmokeOptions
from gpudoctor.smoketests.plan import plan
from gpudoctor.tui.smoke.controller import SmokeUpdate, conduct
from gpudoctor.tui.smoke.progress import Course


class SmokeRunner(Widget):
    """One run at a time.

    Attributes:
        worker: the script that runs the tests; tests give one that is unhealthy.
        course: the run that goes on or went last.
    """

    DEFAULT_CSS = "SmokeRunner { display: none; }"
    worker: str | None = None

    class Moved(Message):
        """The run has something new; `measured`: results too."""

        def __init__(self, measured: bool) -> None:
            super().__init__()
            self.measured = measured

    class Ended(Message):
        """The run has ended."""

        def __init__(self, course: Course) -> None:
            super().__init__()
            self.course = course

    class Heard(Message):
        """What the thread tells: an event, or with None that it has ended."""

        def __init__(
            self, course: Course, reported: SmokeUpdate | None, entry: SmokeEntry | None = None, error: str = ""
        ) -> None:
            super().__init__()
            self.course, self.reported, self.entry, self.error = course, reported, entry, error

    def __init__(self) -> None:
        super().__init__()
        self.course: Course | None = None
        self._halted = Event()

    @property
    def running(self) -> bool:
        """Whether tests run."""
        return self.course is not None and self.course.running

    def begin(self, machine: Machine, facts: Facts, choice: SmokeOptions, options: CheckOptions) -> Course:
        """Begin a run; none may be running.

        Args:
            machine: where the tests run.
            facts: what was found out about it.
            choice: which tests, and on what.
            options: how the machine was checked.

        Raises:
            ChoiceError: what was chosen cannot be run.
        """
        course = Course(plan(facts, choice), time.monotonic())
        self.course, self._halted = course, Event()
        halted = self._halted

        def work() -> None:
            error = ""
            try:
                for reported, entry in conduct(machine, facts, choice, options, halted, self.worker):
                    self.post_message(self.Heard(course, reported, entry))
            except ChoiceError as refused:
                error = str(refused)
            except Exception as fault:
                error = f"gpudoctor itself failed: {type(fault).__name__}: {fault}"
            self.post_message(self.Heard(course, None, error=error))

        self.run_worker(work, thread=True, group="smoke", exit_on_error=False)
        return course

    def halt(self) -> None:
        """End the run; its workers are gone within some seconds, and what was measured is kept."""
        self._halted.set()
        if self.course is not None and self.course.running:
            self.course.stopping = True
            self.post_message(self.Moved(measured=False))

    def on_unmount(self) -> None:
        """Nobody waits for the run any more."""
        self._halted.set()

    def on_smoke_runner_heard(self, message: Heard) -> None:
        """Take note, and tell the screen."""
        message.stop()
        course, now = message.course, time.monotonic()
        if message.reported is not None:
            course.take(message.reported, message.entry, now)
            self.post_message(self.Moved(measured=message.entry is not None))
        else:
            course.end(now, message.error)
            self.post_message(self.Ended(course))
