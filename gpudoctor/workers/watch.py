"""Tells some twenty times a second what the driver says of each GPU, a JSON line a GPU, until somebody ends it.

It runs in a child, because a driver can hang, and next to the smoke tests, so it sleeps at least half of the time.
Standard library and nvidia-ml-py only, Python 3.8 and newer.

    watch.py FOLDER nvidia PYNVML   the directory (or zip) of this file, and the one that holds nvidia-ml-py's pynvml
    watch.py FOLDER amd JSON        what watch_amd.py wants to know

A line is {"gpu": name, "sample": {...}} for what changes all the time, {"gpu": name, "counters": {...}} for what is
read less often, {"gpu": name, "refused": {...}} for a GPU that cannot be watched, or {"stage": ...} before a question
to another GPU or of the other kind, so that a hang has a name. "at" is time.monotonic(), which all processes share.
"""

from __future__ import annotations

import importlib
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    class Watched(Protocol):
        """A GPU under watch: its name in the lines, and its two kinds of questions."""

        name: str

        def sample(self) -> dict[str, Any]:
            """Clocks, temperature, power, what holds the clocks, the link, utilization."""

        def counters(self, others: Others) -> dict[str, Any]:
            """Corrected and uncorrected errors, replays on the bus, and how many others compute there."""


PERIOD = 0.05  # seconds from one round to the next, where the driver answers fast enough
# Counters take the driver longer: they are read in every second round at most, and otherwise as often as keeps them
# under a fiftieth of the time, but once a second.
OFTEN, SELDOM, SHARE = 0.08, 1.0, 50


class Others:
    """Counts processes that are not ours: neither gpudoctor nor below it.

    Args:
        top: gpudoctor's process id.
        proc: where the kernel shows processes.
    """

    def __init__(self, top: int, proc: str = "/proc") -> None:
        self._ours, self._proc = {top}, proc

    def count(self, pids: Iterable[int]) -> int:
        """How many of the processes are somebody else's; ours stay ours when they are dying."""
        return sum(not self._is_ours(pid) for pid in set(pids))

    def _is_ours(self, pid: int) -> bool:
        line = [pid]
        while line[-1] not in self._ours:
            above = self._parent(line[-1])
            if not above or above in line:
                return False
            line.append(above)
        self._ours.update(line)
        return True

    def _parent(self, pid: int) -> int:
        try:
            with open("%s/%d/stat" % (self._proc, pid), encoding="utf-8", errors="replace") as file:
                # The name, in parentheses, may hold anything (proc_pid_stat(5)).
                return int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return 0


class WatchLoop:
    """Asks all GPUs, round after round.

    Args:
        gpus: whom to ask.
        others: who counts processes.
        say: tells a line.
        clock: the time in seconds.
    """

    def __init__(
        self, gpus: Sequence[Watched], others: Others, say: Callable[..., None], clock: Callable[[], float]
    ) -> None:
        self._gpus, self._others, self._say, self._clock = gpus, others, say, clock
        self._stage, self._due = "", 0.0

    def one(self) -> float:
        """Ask every GPU once, and return the seconds to sleep until the next round."""
        begun = self._clock()
        for gpu in self._gpus:
            self._begin("clocks of " + gpu.name)
            at = self._clock()
            self._say(gpu=gpu.name, sample=dict(gpu.sample(), at=at))
        if begun >= self._due:
            self._counters()
        took = self._clock() - begun
        return max(PERIOD - took, took)

    def _counters(self) -> None:
        begun = self._clock()
        for gpu in self._gpus:
            self._begin("counters of " + gpu.name)
            at = self._clock()
            self._say(gpu=gpu.name, counters=dict(gpu.counters(self._others), at=at))
        ended = self._clock()
        self._due = ended + min(SELDOM, max(OFTEN, SHARE * (ended - begun)))

    def _begin(self, stage: str) -> None:
        """Say what is asked next, where it is not the same as before."""
        if stage != self._stage:
            self._stage = stage
            self._say(stage=stage)


def main(folder: str, vendor: str, argument: str) -> None:
    """Find the GPUs of a vendor and watch them for ever; return where there is none."""
    sys.path.append(folder)  # at the end, so that nothing there hides a module of the standard library
    nvml: Any = importlib.import_module("nvml")
    nvml.CHANNEL = nvml.private_output()
    found = importlib.import_module("watch_" + vendor).gpus(argument, nvml.say)
    rounds = WatchLoop(found, Others(os.getppid()), nvml.say, time.monotonic)
    while found:
        time.sleep(rounds.one())


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # without the driver's own tidying, which can hang too
