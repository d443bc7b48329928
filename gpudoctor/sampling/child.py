"""The child that samples one vendor's GPUs (workers/sampler.py), and what its lines show of the child itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Literal

import msgspec

import gpudoctor.workers
from gpudoctor.child import ChildResult
from gpudoctor.machine import Machine
from gpudoctor.probes.staged_child import module_folder, program
from gpudoctor.sampling.lines import SampleLine, decode

RateName = Literal["fast", "slow", "run", "tree"]


class SamplerChild:
    """One child; its lines are taken by the thread that runs it and read by others.

    Args:
        rate: "fast" is twenty times a second, with counters, "slow" once a second, with limits and processes, "run"
            once a second for little, and "tree" the same for the processes of a program.
        vendor: nvidia, amd, program.
        argument: the last one of workers/sampler.py.
        take: takes each line.

    Attributes:
        stage: what is asked for now.
        answered: a sample came.
        failed: why NVML does not start; empty: nothing is known against it.
        absent: why there is nothing to ask; empty: nothing is known against it.
        heard: when the last line came (time.monotonic).
        ended: how it ended.
    """

    def __init__(self, rate: RateName, vendor: str, argument: str, take: Callable[[SampleLine, str], None]) -> None:
        self._rate, self._vendor, self._argument, self._take = rate, vendor, argument, take
        self.stage, self.answered, self.failed, self.absent = "start", False, "", ""
        self.heard = time.monotonic()
        self.ended: ChildResult | None = None

    def run(self, machine: Machine, seconds: float, wanted: Callable[[], bool]) -> ChildResult:
        """Run it to its end.

        Args:
            machine: where it runs.
            seconds: after which it is killed.
            wanted: whether it shall go on.
        """
        folder = os.path.dirname(gpudoctor.workers.__file__)
        argv = [*program("sampler.py"), folder, self._rate, module_folder("psutil"), self._vendor, self._argument]
        self.ended = machine.run(argv, seconds, on_line=self.line, patient=True, late=lambda: not wanted())
        return self.ended

    def line(self, text: str) -> None:
        """Take a line; one that is none of ours is passed over."""
        try:
            line = decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):  # cut short, or printed by the interpreter
            return
        self.heard = time.monotonic()
        self.stage = line.stage or self.stage
        self.answered = self.answered or line.sample is not None
        if isinstance(line.code, dict):
            self.failed = str(line.code.get("unknown"))
        elif line.code:
            self.failed = f"nvmlInit failed with {line.code}: {line.text}"
        self.absent = line.not_loaded or line.no_module or self.absent
        if line.count == 0 and not self.failed:
            self.absent = self.absent or "it lists no GPU"
        self._take(line, self._vendor)

    def silent(self, now: float) -> float:
        """The seconds without a line until a moment (time.monotonic); 0 where it has ended."""
        return now - self.heard if self.ended is None else 0.0

    @property
    def asked(self) -> str:
        """What it asks the driver, for people: "asked for the state of GPU 1"."""
        return f"asked for the {self.stage}" if " of " in self.stage else f"in stage {self.stage}"
