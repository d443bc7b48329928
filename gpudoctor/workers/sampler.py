"""Reports what the driver knows of each GPU, a JSON line at a time, until somebody ends it.

It runs in a child of gpudoctor's own interpreter, because a driver can hang, and sleeps at least half of the time.
Standard library, nvidia-ml-py and psutil only, Python 3.8 and newer.

    sampler.py FOLDER RATE PSUTIL nvidia PYNVML
    sampler.py FOLDER RATE PSUTIL amd JSON
    sampler.py FOLDER tree PSUTIL program JSON

FOLDER is the directory (or zip) of this file, PSUTIL and PYNVML are those of psutil and of nvidia-ml-py's pynvml, and
JSON is what sampler_amd.py or sampler_program.py needs. RATE is "fast", next to smoke tests, "slow", for somebody who
watches, or "run", next to a program of the user's; "tree" is for the processes of that program.

docs/samples.md describes the lines. A {"stage": ...} comes before each question to another GPU or of another kind, so
that a hang has a name. "at" is time.monotonic(), which all processes share.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    class SampledGpu(Protocol):
        """A GPU: its name in the lines, and what can be asked about it."""

        name: str

        def sample(self) -> dict[str, Any]:
            """Clocks, temperature, power, what throttles, the link, utilization."""

        def full_sample(self) -> dict[str, Any]:
            """The same with what takes the driver longer: memory, fan, traffic."""

        def usage(self) -> dict[str, Any]:
            """Utilization and memory alone, for little."""

        def counters(self) -> dict[str, Any]:
            """Corrected and uncorrected errors, replays on the bus, how many other processes compute there."""

        def device(self) -> dict[str, Any]:
            """Name, limits, links, MIG."""

        def processes(self) -> Any:
            """Who uses it."""


# What is asked of each GPU: the key of its line, its stage, how, and the seconds between two answers: as many as keep
# the question under a share (SHARE) of the time, but `min` at least and `max` at most.
Question = namedtuple("Question", "key stage ask min max")
# One kind of sampling: seconds from one round to the next, where the driver responds fast enough, what is asked,
# whether the machine's memory is too, and the share: of the time ("wall"), or of a core ("cpu").
Rate = namedtuple("Rate", "period questions host share clock")
SHARE = 50
# Next to a program of the user's: the three questions about GPUs and the one about processes stay below 1% together.
CPU_SHARE = 500
RATES = {
    "fast": Rate(
        0.05,
        (
            Question("sample", "state", lambda gpu: gpu.sample(), 0.0, 0.0),
            # Counters take the driver longer: in every second round at most.
            Question("counters", "counters", lambda gpu: gpu.counters(), 0.08, 1.0),
        ),
        host=False,
        share=SHARE,
        clock="wall",
    ),
    "slow": Rate(
        1.0,
        (
            Question("sample", "state", lambda gpu: gpu.full_sample(), 0.0, 0.0),
            # Every tenth and every second round: half a period less than that, because rounds begin at whole periods.
            Question("device", "limits", lambda gpu: gpu.device(), 9.5, 9.5),
            Question("processes", "processes", lambda gpu: gpu.processes(), 1.5, 1.5),
        ),
        host=True,
        share=SHARE,
        clock="wall",
    ),
    "run": Rate(
        1.0,
        (
            Question("sample", "state", lambda gpu: gpu.usage(), 0.5, 30.0),
            Question("device", "limits", lambda gpu: gpu.device(), 300.0, 3600.0),
            Question("processes", "processes", lambda gpu: gpu.processes(), 1.5, 30.0),
        ),
        host=False,
        share=CPU_SHARE,
        clock="cpu",
    ),
    "tree": Rate(
        1.0,
        (Question("tree", "processes", lambda program: program.tree(), 0.5, 30.0),),
        host=False,
        share=CPU_SHARE,
        clock="cpu",
    ),
}
DESCRIBED = ("name", "command", "user", "host_memory", "age")
DENIED = {"unknown": "the system does not show it to this user"}
MAX_COMMAND = 400  # characters: what a terminal may show in a row


class ProcessTable:
    """The machine's processes and its memory, by psutil; unknown where it cannot be imported.

    Args:
        top: gpudoctor's process id.
        folder: the directory that holds psutil; empty: none.
        clock: the seconds since the epoch.
    """

    def __init__(self, top: int, folder: str, clock: Callable[[], float] = time.time) -> None:
        self._ours, self._clock = {top}, clock
        self._folder = folder
        self._ps: Any = None
        self._why: Any = None

    def psutil(self) -> Any:
        """The module, imported when it is needed first; None where it cannot be."""
        if self._ps is None and self._why is None:
            sys.path.extend([self._folder] if self._folder else [])
            try:
                self._ps = importlib.import_module("psutil")
            except Exception as problem:  # built for another Python, or /proc is not mounted
                self._why = {"unknown": "psutil cannot be imported: %s" % problem}
        return self._ps

    def others(self, pids: Iterable[int]) -> Any:
        """How many of the processes are neither gpudoctor nor below it; ours stay ours when they are dying."""
        return sum(not self._is_ours(pid) for pid in set(pids)) if self.psutil() else self._why

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
            return int(self._ps.Process(pid).ppid())
        except (self._ps.Error, OSError, ValueError):
            return 0

    def described(self, pid: int, kind: str, memory: Any) -> dict[str, Any]:
        """A process as a line reports it; in another PID namespace nothing more is known of it, and that is null.

        Args:
            pid: its number.
            kind: C for computing, G for graphics, C+G for both.
            memory: of the GPU, in bytes, or why it is unknown.
        """
        reported = {"pid": pid, "kind": kind, "memory": memory}
        ps = self.psutil()
        if ps is None:
            return dict(reported, **dict.fromkeys(DESCRIBED, self._why))
        user = "uids" if hasattr(ps.Process, "uids") else "username"  # Windows has no numbers
        try:
            found = ps.Process(pid).as_dict(("name", "cmdline", user, "memory_info", "create_time"), ad_value=DENIED)
        except ps.NoSuchProcess:
            return dict(reported, **dict.fromkeys(DESCRIBED))
        except (ps.Error, OSError, ValueError) as problem:
            why = {"unknown": "psutil: %s" % problem}
            return dict(reported, **dict.fromkeys(DESCRIBED, why))
        return dict(
            reported,
            name=found["name"],
            command=_of(found["cmdline"], lambda words: " ".join(words)[:MAX_COMMAND] or None),
            user=_of(found[user], lambda who: getattr(who, "real", who)),
            host_memory=_of(found["memory_info"], lambda memory: memory.rss),
            age=_of(found["create_time"], lambda begun: round(max(0.0, self._clock() - begun), 1)),
        )

    def host(self) -> dict[str, Any]:
        """The machine's memory, in bytes."""
        try:
            memory = self.psutil().virtual_memory()
            return {"memory": memory.total, "memory_available": memory.available}
        except Exception as problem:  # psutil is not there, or the system does not let it ask
            why = self._why or {"unknown": "psutil: %s" % problem}
            return {"memory": why, "memory_available": why}


def _of(value: Any, part: Callable[[Any], Any]) -> Any:
    """A part of what psutil reports, where it reports it."""
    return value if value is DENIED else part(value)


class SamplerLoop:
    """Asks all GPUs, round after round.

    Args:
        rate: what is asked, and how often.
        gpus: whom to ask.
        processes: knows the machine's memory.
        say: writes a line.
        clock: the time in seconds.
        cost: the seconds that this process has spent; None: the time counts.
    """

    def __init__(
        self,
        rate: Rate,
        gpus: Sequence[SampledGpu],
        processes: ProcessTable,
        say: Callable[..., None],
        clock: Callable[[], float],
        cost: Callable[[], float] | None = None,
    ) -> None:
        self._rate, self._gpus, self._processes = rate, gpus, processes
        self._cost = cost or clock
        self._say, self._clock = say, clock
        self._stage = ""
        self._due: dict[str, float] = {}
        self._next = clock()

    def one(self) -> float:
        """Ask every GPU what is due, and return the seconds to sleep until the next round."""
        begun = self._clock()
        for question in self._rate.questions:
            if begun >= self._due.get(question.key, begun):
                self._ask(question)
        if self._rate.host:
            self._say(at=begun, host=self._processes.host())
        ended = self._clock()
        while self._next <= ended:  # rounds begin at whole periods after the first one: samples are evenly spaced
            self._next += self._rate.period
        return max(self._next - ended, ended - begun)

    def _ask(self, question: Any) -> None:
        before = self._cost()
        for gpu in self._gpus:
            stage = "%s of %s" % (question.stage, gpu.name)
            if stage != self._stage:
                self._stage = stage
                self._say(stage=stage)
            at = self._clock()
            answer = question.ask(gpu)
            if isinstance(answer, dict) and question.key in ("sample", "counters", "tree"):
                answer = dict(answer, at=at)
            self._say(gpu=gpu.name, **{question.key: answer})
        pause = self._rate.share * (self._cost() - before)
        self._due[question.key] = self._clock() + min(question.max, max(question.min, pause))


def main(folder: str, rate: str, psutil: str, vendor: str, argument: str) -> None:
    """Find the GPUs of a vendor and report on them for ever; return where there is none."""
    if hasattr(signal, "pthread_sigmask"):  # the thread that started us may have kept signals for another
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    sys.path.append(folder)  # at the end, so that nothing there hides a module of the standard library
    nvml: Any = importlib.import_module("nvml")
    nvml.CHANNEL = nvml.private_output()
    processes = ProcessTable(os.getppid(), psutil)
    found = importlib.import_module("sampler_" + vendor).gpus(argument, nvml.say, processes)
    nvml.say(count=len(found))
    cost = time.process_time if RATES[rate].clock == "cpu" else None
    rounds = SamplerLoop(RATES[rate], found, processes, nvml.say, time.monotonic, cost)
    while found:
        time.sleep(rounds.one())


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # without the driver's own cleanup, which can hang too
