"""Asks the running machine's drivers through a child for each vendor; a driver that hangs stops nothing here."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpudoctor.machine import Machine
from gpudoctor.monitor.sampler import Sampler
from gpudoctor.monitor.snapshot import LIVE, Snapshot, devices
from gpudoctor.monitor.vendors import VENDORS
from gpudoctor.sampling.history import History


class LiveSource:
    """The GPUs of the running machine.

    Args:
        make: makes the machine.
    """

    def __init__(self, make: Callable[[], Machine] = Machine) -> None:
        self._history = History()
        self._samplers = [Sampler(vendor, make, self._history) for vendor in VENDORS]

    def start(self) -> None:
        """Begin to ask; a child that was asked to end and has not yet goes on."""
        for sampler in self._samplers:
            sampler.start()

    def stop(self) -> None:
        """Ask the children to end; their threads kill them where they do not."""
        for sampler in self._samplers:
            sampler.stop()

    def look(self) -> Snapshot:
        """What there is now."""
        now = time.monotonic()
        states = [sampler.state(now) for sampler in self._samplers]
        return Snapshot(
            kind=LIVE,
            now=now,
            devices=devices(self._history),
            host=self._history.host,
            troubles=tuple(state.trouble for state in states if state.trouble),
            waiting=any(state.waiting for state in states),
            absent=tuple(state.absent for state in states if state.absent),
        )
