"""Tells once a second what the driver says of each GPU, a JSON line a GPU, to somebody who looks on.

It runs in a child, because a driver can hang, and sleeps at least half of the time. Standard library and
nvidia-ml-py only, Python 3.8 and newer.

    monitor.py FOLDER nvidia PYNVML   the directory (or zip) of this file, and the one that holds nvidia-ml-py's pynvml
    monitor.py FOLDER amd JSON        what watch_amd.py wants to know

A line is {"gpu": name, "device": {...}} for what hardly changes, {"gpu": name, "sample": {...}} for what changes all
the time, {"gpu": name, "processes": [...]} for who uses it, {"gpu": name, "refused": {...}} for a GPU that cannot be
asked, or {"stage": ...} before each question, so that a hang has a name. "at" is time.monotonic(), which all
processes share. docs/samples.md describes the lines.
"""

from __future__ import annotations

import importlib
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    class Monitored(Protocol):
        """A GPU: its name in the lines, and its three kinds of questions."""

        name: str

        def sample(self) -> dict[str, Any]:
            """Load, memory, temperature, power, clocks, traffic."""

        def device(self) -> dict[str, Any]:
            """Name, limits, links, MIG."""

        def processes(self) -> Any:
            """Who uses it."""


PERIOD = 1.0  # seconds from one round to the next, where the driver answers fast enough
SELDOM = {"processes": 2.0, "device": 10.0}  # seconds between two answers to what changes less often


class MonitorLoop:
    """Asks all GPUs, round after round.

    Args:
        gpus: whom to ask.
        say: tells a line.
        clock: the time in seconds.
    """

    def __init__(self, gpus: Sequence[Monitored], say: Callable[..., None], clock: Callable[[], float]) -> None:
        self._gpus, self._say, self._clock = gpus, say, clock
        self._due = dict.fromkeys(SELDOM, 0.0)
        self._next = clock()

    def one(self) -> float:
        """Ask every GPU once, and return the seconds to sleep until the next round."""
        begun = self._clock()
        due = [what for what, at in self._due.items() if begun >= at]
        self._due.update((what, begun + SELDOM[what] - PERIOD / 2) for what in due)
        for gpu in self._gpus:
            if "device" in due:
                self._say(stage="limits of " + gpu.name)
                self._say(gpu=gpu.name, device=gpu.device())
            self._say(stage="state of " + gpu.name)
            at = self._clock()
            self._say(gpu=gpu.name, sample=dict(gpu.sample(), at=at))
            if "processes" in due:
                self._say(stage="processes of " + gpu.name)
                self._say(gpu=gpu.name, processes=gpu.processes())
        return self._pause(begun)

    def _pause(self, begun: float) -> float:
        """Rounds begin at whole periods after the first one, so that samples are evenly spaced."""
        ended = self._clock()
        while self._next <= ended:
            self._next += PERIOD
        return max(self._next - ended, ended - begun)


def process(pid: int, kind: str, memory: Any, proc: str = "/proc") -> dict[str, Any]:
    """A process with its name and its user's number; null where it is in another PID namespace.

    Args:
        pid: its number.
        kind: C for computing, G for graphics, C+G for both.
        memory: of the GPU, in bytes, or why it is unknown.
        proc: where the kernel shows processes.
    """
    told = {"pid": pid, "kind": kind, "memory": memory, "name": None, "user": None}
    try:
        with open("%s/%d/status" % (proc, pid), encoding="utf-8", errors="replace") as file:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        told.update(name=fields["Name"], user=int(fields["Uid"].split("\t")[0]))
    except (OSError, KeyError, ValueError):
        pass
    return told


def main(folder: str, vendor: str, argument: str) -> None:
    """Find the GPUs of a vendor and tell of them for ever; return where there is none."""
    sys.path.append(folder)  # at the end, so that nothing there hides a module of the standard library
    nvml: Any = importlib.import_module("nvml")
    nvml.CHANNEL = nvml.private_output()
    found = importlib.import_module("monitor_" + vendor).gpus(argument, nvml.say, process)
    nvml.say(stage="found", count=len(found))
    rounds = MonitorLoop(found, nvml.say, time.monotonic)
    while found:
        time.sleep(rounds.one())


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # without the driver's own tidying, which can hang too
