"""One vendor's sampler: the child, the thread that takes its lines and starts it again, and how it does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import Event, Lock, Thread

import msgspec

import gpudoctor.workers
from gpudoctor.child import ChildResult, reap
from gpudoctor.machine import Machine
from gpudoctor.monitor.history import History
from gpudoctor.monitor.samples import SampleLine, decode
from gpudoctor.monitor.user_names import Users
from gpudoctor.monitor.vendors import SamplerTask, Vendor, lines_before
from gpudoctor.probes.staged_child import end_of, program

FOREVER = 30 * 86_400.0  # seconds: longer than anybody looks on
STALLED = 3.0  # seconds without a line after which the driver counts as silent: three samples
PATIENT = 10.0  # seconds in which a driver starts its GPUs, where nothing keeps them awake
RETRY = 10.0  # seconds after which a driver that failed is asked again
AT_ONCE = 0.3  # seconds after which a child that somebody else ended is started again


class SamplerState(msgspec.Struct, frozen=True):
    """How a sampler does: what goes wrong, whether it waits for the first answer, why there is nothing to ask."""

    trouble: str | None = None
    waiting: bool = False
    absent: str | None = None


class Sampler:
    """Asks one vendor's driver while it is wanted.

    Args:
        vendor: whose.
        make: makes the machine.
        history: takes what is told.
    """

    def __init__(self, vendor: Vendor, make: Callable[[], Machine], history: History) -> None:
        self._vendor, self._make, self._history = vendor, make, history
        self._lock, self._woken = Lock(), Event()
        self._wanted = self._running = self._stuck = False
        self._users = Users()
        self._failed = self._absent = ""
        self._begin()

    def _begin(self) -> None:
        """A child begins; why the last one failed stands until this one answers."""
        self._heard, self._stage = time.monotonic(), "start"
        self._answered = self._ended = False

    # -- start and stop ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Want samples."""
        with self._lock:
            self._wanted = True
            self._woken.set()
            if self._running:  # a thread that is still leaving goes on
                return
            self._running = True
        self._begin()
        Thread(target=self._run, name=f"monitor {self._vendor.name}", daemon=True).start()

    def stop(self) -> None:
        """Want no more samples; the child is asked to end within 20 ms, and killed where it does not."""
        with self._lock:
            self._wanted = False
            self._woken.set()

    def _goes_on(self) -> bool:
        with self._lock:
            self._running = self._wanted
            self._woken.clear()
            return self._running

    def _run(self) -> None:
        while self._goes_on():
            self._woken.wait(self._once())

    # -- one child ---------------------------------------------------------------------------------------------

    def _once(self) -> float:
        """Run one child to its end, and return the seconds after which the next one may begin."""
        self._begin()
        try:
            machine = self._make()
            task = self._vendor.task(machine)
        except Exception as error:  # a directory that is gone; a thread that ended here would never ask again
            task = str(error) or type(error).__name__
        if isinstance(task, str):
            self._absent = task
            return RETRY
        if self._stuck and reap():
            self._failed = "an earlier child process hangs in it and cannot be killed"
            return RETRY
        machine.without_end()
        for told in lines_before(task):
            self._history.take(msgspec.convert(told, SampleLine), self._vendor.name)
        self._users = Users.of(machine)
        ended = self._ask(machine, task)
        return self._judge(ended)

    def _ask(self, machine: Machine, task: SamplerTask) -> ChildResult:
        argv = [*program("monitor.py"), os.path.dirname(gpudoctor.workers.__file__), self._vendor.name, task.argument]
        return machine.run(argv, FOREVER, on_line=self._take, patient=True, late=lambda: not self._wanted)

    def _take(self, text: str) -> None:
        try:
            line = decode(text)
        except (
            msgspec.DecodeError,
            UnicodeError,
            RecursionError,
        ):  # cut short, or printed by the interpreter
            return
        self._heard = time.monotonic()
        self._stage = line.stage or self._stage
        if line.sample is not None:
            self._answered, self._failed, self._absent = True, "", ""
        if line.not_loaded or line.no_module:
            self._absent = line.not_loaded or line.no_module or ""
        if isinstance(line.code, int) and line.code:
            self._failed = f"nvmlInit failed with {line.code}: {line.text}"
        if line.count == 0:
            self._absent = self._absent or "it lists no GPU"
        if line.processes is not None:
            line.processes = self._users.named(line.processes)
        self._history.take(line, self._vendor.name)

    def _judge(self, ended: ChildResult) -> float:
        self._ended, self._stuck = True, ended.abandoned
        if ended.cancelled:
            return AT_ONCE
        if not self._wanted:
            return 0.0
        if self._answered or (not self._failed and not self._absent):
            self._failed = end_of(ended, self._stage, ended.seconds)
        return RETRY

    # -- how it does -------------------------------------------------------------------------------------------

    def state(self, now: float) -> SamplerState:
        """How it does at a moment (time.monotonic)."""
        if not self._wanted:
            return SamplerState()
        if self._failed:
            return SamplerState(
                trouble=f"{_capital(self._vendor.driver)}: {self._failed}.", absent=self._absent or None
            )
        if self._absent:
            return SamplerState(absent=f"{_capital(self._vendor.driver)}: {self._absent}.")
        silent = now - self._heard
        if silent > (STALLED if self._answered else PATIENT) and not self._ended:
            return SamplerState(trouble=self._silence(silent))
        return SamplerState(waiting=not self._answered)

    def _silence(self, seconds: float) -> str:
        asked = f"queried for the {self._stage}" if " of " in self._stage else f"in stage {self._stage}"
        return f"{_capital(self._vendor.driver)} stopped responding {seconds:.0f} s ago, {asked}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text != "amdgpu" else text
