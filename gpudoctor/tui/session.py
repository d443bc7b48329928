"""What the application checks, and what came of it so far: the model behind every screen, without any widget."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import CheckOptions, Done, Event, Glimpsed, Judged
from gpudoctor.report.model import Report

if TYPE_CHECKING:
    from gpudoctor.sampling.lines import SampleLine


class SessionSource(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked at.

    Attributes:
        title: for people: "this machine", "host.json", "demo: mismatch".
        facts: of a recorded machine; None: the running one is checked.
        options: how it is checked.
        make: makes the machine again for each examination, because each has its own time.
        demo: the name of the demo that it is; empty: it is none.
        samples: a recording of GPUs, which is played instead of what their drivers say now; empty: there is none.
        command: runs a command of ours (`fix`) in the terminal while the application is suspended, and gives its exit
            code; None: not here, because a recorded machine, another root, or a page in a browser is shown.
    """

    title: str = "this machine"
    facts: Facts | None = None
    options: CheckOptions = CheckOptions(glimpses=True)
    make: Callable[[], Machine] = Machine
    demo: str = ""
    samples: tuple[SampleLine, ...] = ()
    command: Callable[..., int] | None = None

    @property
    def recorded(self) -> str:
        """Why nothing can be run or checked here, in a sentence; empty: it can."""
        return "" if self.live else f"Only on a live machine: these are recorded facts ({self.title})."

    @property
    def live(self) -> bool:
        """Whether the running machine is looked at, so that things can be tried again."""
        return self.facts is None


class ProbeProgress(msgspec.Struct, frozen=True):
    """How far a probe is: running, done, failed."""

    key: str
    label: str
    state: str = "running"
    seconds: float = 0.0
    error: str | None = None


class Session:
    """The state of one examination.

    Attributes:
        source: what is looked at.
        probes: by key, in the order in which they began.
        report: the newest, a glimpse while probes still look; None: nothing can be said yet.
        facts: all of them; None while they are gathered.
        verdicts: what each check said of the last facts.
        running: whether probes still look.
        error: why the run of the checks itself failed, which is a fault of ours.
    """

    def __init__(self, source: SessionSource) -> None:
        self.open(source)

    def open(self, source: SessionSource) -> None:
        """Look at something else; nothing of the last is left."""
        self.source = source
        self.probes: dict[str, ProbeProgress] = {}
        self.report: Report | None = None
        self.facts: Facts | None = source.facts
        self.verdicts: tuple[Any, ...] = ()
        self.running = False
        self.error: str | None = None

    def begin(self) -> None:
        """An examination begins; the last report stays until there is a newer one."""
        self.probes, self.running, self.error = {}, True, None

    def take(self, event: Event) -> bool:
        """Take note of an event; whether the screens have something new to show."""
        if isinstance(event, StepStarted):
            self.probes[event.key] = ProbeProgress(event.key, event.label)
        elif isinstance(event, StepEnded):
            state = "failed" if event.error else "done"
            self.probes[event.key] = ProbeProgress(event.key, event.label, state, event.seconds, event.error)
        elif isinstance(event, Glimpsed):
            self.report = event.report
        elif isinstance(event, Judged):
            self.verdicts = event.verdicts
            return False
        elif isinstance(event, Done):
            self.report, self.facts, self.running = event.report, event.facts, False
        else:
            return False
        return True

    def fail(self, error: str) -> None:
        """The examination itself broke."""
        self.error, self.running = error, False

    @property
    def progress(self) -> tuple[int, int]:
        """How many probes have ended, of how many."""
        return sum(probe.state != "running" for probe in self.probes.values()), len(self.probes)
