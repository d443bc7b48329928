"""Times a piece of work: warmed up until its speed is steady, then in batches, of which the median counts."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .runner import Bench

# A GPU idles at a fraction of its clock (345 of 1980 MHz on an H200) and reaches it within a tenth of a second.
WARM_UP, STEADY, LONGEST_WARM_UP = 0.1, 0.02, 1.0  # seconds, relative difference of two windows, seconds
WINDOW = 0.02  # seconds of a window of the warm-up
BATCHES, ENOUGH, LONGEST = 7, 0.15, 0.5  # at least so many batches and seconds, at most so many seconds
UNSTEADY = 0.05  # coefficient of variation above which it is measured once more


class Samples:
    """Seconds of one call, batch by batch.

    Attributes:
        seconds: of one call, a number a batch, in the order of time.
        first: seconds of the very first call, which loads or compiles what it needs.
        begun, ended: from when to when they were taken (time.monotonic).
    """

    def __init__(self, seconds: list[float], first: float, begun: float, ended: float) -> None:
        self.seconds, self.first, self.begun, self.ended = seconds, first, begun, ended

    @property
    def median(self) -> float:
        """The median seconds of one call."""
        return median(self.seconds)

    @property
    def variation(self) -> float:
        """The coefficient of variation: standard deviation over mean."""
        mean = sum(self.seconds) / len(self.seconds)
        spread = sum((s - mean) ** 2 for s in self.seconds) / max(1, len(self.seconds) - 1)
        return float(spread**0.5 / mean) if mean else 0.0


def median(values: Any) -> float:
    """The median of some numbers."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def measure(bench: Bench, call: Callable[[], Any], enough: float = ENOUGH, longest: float = LONGEST) -> Samples:
    """Measure a call that the device may queue.

    The method is that of triton.testing.do_bench and nvbandwidth: one call that does not count, warming up by time,
    then batches of calls queued together, timed by the device where it has a clock.

    Args:
        bench: what the test works with.
        call: queues the work once.
        enough: seconds of batches that are enough.
        longest: seconds after which no batch is begun.
    """
    backend = bench.backend
    begun = time.monotonic()
    call()
    backend.synchronize()
    first = time.monotonic() - begun
    once = warmed_up(bench, call)
    times = max(1, int(backend.batch_seconds / once))
    found = _batches(bench, call, times, enough, longest, first)
    if found.variation > UNSTEADY:
        again = _batches(bench, call, times, enough, longest, first)
        found = min(found, again, key=lambda samples: samples.variation)
    bench.timed(found.begun, found.ended)
    return found


def warmed_up(bench: Bench, call: Callable[[], Any]) -> float:
    """Work until two windows in a row take equally long; return the seconds of one call in the last."""
    begun, before = time.monotonic(), 0.0
    once = max(bench.backend.elapsed(call, 1), 1e-7)
    while time.monotonic() - begun < LONGEST_WARM_UP:
        bench.pause()
        before, once = once, max(bench.backend.elapsed(call, max(1, int(WINDOW / once))), 1e-7)
        if time.monotonic() - begun >= WARM_UP and abs(once - before) <= STEADY * once:
            break
    return once


def _batches(bench: Bench, call: Callable[[], Any], times: int, enough: float, longest: float, first: float) -> Samples:
    seconds: list[float] = []
    begun = time.monotonic()
    while True:
        bench.pause()
        seconds.append(bench.backend.elapsed(call, times))
        spent = time.monotonic() - begun
        if (len(seconds) >= BATCHES and spent >= enough) or spent >= longest:
            return Samples(seconds, first, begun, time.monotonic())
