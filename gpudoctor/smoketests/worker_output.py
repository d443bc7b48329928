"""Makes facts of what a worker told, line by line, until it ended in whatever way."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from gpudoctor.facts import SmokeRun, SmokeTest
from gpudoctor.probes.frameworks.live import PREFIX


class WorkerOutput:
    """What one or two workers of a job have told so far.

    Attributes:
        stage, variant: what began last.
        done: how much of the stage is done, 0 to 1, where it tells.
        tests: the results, in order.
        windows: of each result, from when to when it ran and when it was timed (time.monotonic).
        facts: of the run itself.
    """

    def __init__(self) -> None:
        self.stage, self.variant, self.done = "start", "", 0.0
        self.tests: list[SmokeTest] = []
        self.windows: list[tuple[tuple[float, float], tuple[tuple[float, float], ...]]] = []
        self.facts: dict[str, Any] = {}
        self.began: float | None = None  # the stage, by the worker's clock, which is ours
        self.started: float | None = None  # when it took the device: until then nothing of it ran there

    @property
    def place(self) -> str:
        """Where it is, for people: a test with its variant, or another stage; where a test was stopped, that test."""
        last = self.tests[-1] if self.tests else None
        stopped = last is not None and last.outcome == "stopped"
        parts = (last.name, last.variant) if last and stopped else (self.stage, self.variant)
        return " ".join(filter(None, parts))

    def line(self, line: str) -> str | None:
        """Take note of a line; gives "stage", "result" or "progress" where it tells one, else None."""
        if not line.startswith(PREFIX):
            return None
        try:
            reported = json.loads(line[len(PREFIX) :])
        except (ValueError, RecursionError):  # cut short by the worker's death
            return None
        if not isinstance(reported, dict):
            return None
        if "result" in reported:
            return "result" if self._result(reported["result"]) else None
        if "progress" in reported:
            return "progress" if self._progress(reported["progress"]) else None
        if "stage" in reported:
            self._stage(reported)
            return "stage"
        self.facts |= reported.pop("about", {})
        self.facts |= reported
        return None

    def _progress(self, done: Any) -> bool:
        if not isinstance(done, (int, float)) or not 0 <= done <= 1:
            return False
        self.done = float(done)
        return True

    def _stage(self, reported: dict[str, Any]) -> None:
        self.stage, self.variant = str(reported.pop("stage")), str(reported.pop("variant", ""))
        self.began, self.done = reported.pop("at", None), 0.0
        if self.stage == "start" and self.started is None:
            self.started = self.began
        self.facts |= reported

    def _result(self, reported: Any) -> bool:
        try:
            begun, ended = reported.pop("at")
            timed = tuple((float(a), float(b)) for a, b in reported.pop("timed"))
            test = msgspec.convert(reported, SmokeTest)
        except (msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError):
            return False
        self.tests.append(test)
        self.windows.append(((float(begun), float(ended)), timed))
        return True

    def run(self, **known: Any) -> SmokeRun:
        """The run as facts; what the worker told in another type than it should is left out."""
        fields = {field.name for field in msgspec.structs.fields(SmokeRun)} - {"tests"}
        facts = {name: value for name, value in {**self.facts, **known}.items() if name in fields}
        facts["stage"] = self.place
        try:
            run = msgspec.convert(facts, SmokeRun)
        except msgspec.ValidationError as error:
            run = SmokeRun(**known, outcome="failed", message=f"its output is invalid: {error}")
        return msgspec.structs.replace(run, tests=tuple(self.tests))
