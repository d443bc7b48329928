"""One vendor's sampler: the thread that starts its child, and starts it again, and how it does."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Protocol

import msgspec

from gpudoctor.child import reap
from gpudoctor.machine import Machine
from gpudoctor.monitor.user_names import Users
from gpudoctor.monitor.vendors import SamplerTask, Vendor, lines_before
from gpudoctor.probes.staged_child import end_of
from gpudoctor.sampling.child import RateName, SamplerChild
from gpudoctor.sampling.lines import SampleLine

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


class LineTaker(Protocol):
    """Keeps what it needs of the lines."""

    def take(self, line: SampleLine, vendor: str) -> None:
        """Take note of a line."""
        ...


class Sampler:
    """Asks one vendor's driver while it is wanted.

    Args:
        vendor: whose.
        make: makes the machine.
        history: takes what is told.
        rate: how often, and what.
    """

    def __init__(
        self, vendor: Vendor, make: Callable[[], Machine], history: LineTaker, rate: RateName = "slow"
    ) -> None:
        self._vendor, self._make, self._history, self._rate = vendor, make, history, rate
        self._lock, self._woken = Lock(), Event()
        self._wanted = self._running = self._stuck = False
        self._users = Users()
        self._failed = self._absent = ""
        self._begin("")

    def _begin(self, argument: str) -> SamplerChild:
        """A child begins; why the last one failed stands until this one responds."""
        self._child = SamplerChild(self._rate, self._vendor.name, argument, self._take)
        return self._child

    # -- start and stop ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Want samples."""
        with self._lock:
            self._wanted = True
            self._woken.set()
            if self._running:  # a thread that is still leaving goes on
                return
            self._running = True
        self._begin("")
        Thread(target=self._run, name=f"monitor {self._vendor.name}", daemon=True).start()

    def stop(self) -> None:
        """Want no more samples; the child is asked to end within 0.25 s, and killed where it does not."""
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
        for reported in lines_before(task):
            self._history.take(msgspec.convert(reported, SampleLine), self._vendor.name)
        self._users = Users.of(machine)
        return self._ask(machine, task)

    def _ask(self, machine: Machine, task: SamplerTask) -> float:
        child = self._begin(task.argument)
        ended = child.run(machine, FOREVER, lambda: self._wanted)
        self._stuck = ended.abandoned
        if ended.cancelled:
            return AT_ONCE
        if not self._wanted:
            return 0.0
        if child.answered or (not child.failed and not child.absent):
            self._failed = end_of(ended, child.stage, ended.seconds)
        return RETRY

    def _take(self, line: SampleLine, vendor: str) -> None:
        child = self._child
        if line.sample is not None or child.failed or child.absent:
            self._failed, self._absent = child.failed, child.absent
        if line.processes is not None:
            line.processes = self._users.named(line.processes)
        self._history.take(line, vendor)

    # -- how it does -------------------------------------------------------------------------------------------

    def state(self, now: float) -> SamplerState:
        """How it does at a moment (time.monotonic)."""
        if not self._wanted:
            return SamplerState()
        if self._failed:
            trouble = f"{_capital(self._vendor.driver)}: {self._failed}."
            return SamplerState(trouble=trouble, absent=self._absent or None)
        if self._absent:
            return SamplerState(absent=f"{_capital(self._vendor.driver)}: {self._absent}.")
        child = self._child
        silent = child.silent(now)
        if silent > (STALLED if child.answered else PATIENT):
            driver = _capital(self._vendor.driver)
            return SamplerState(trouble=f"{driver} stopped responding {silent:.0f} s ago, {child.asked}.")
        return SamplerState(waiting=not child.answered)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text != "amdgpu" else text
