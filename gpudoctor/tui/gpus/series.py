"""Samples, which have times, as evenly spaced values, which charts draw; a time without a sample is a gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpudoctor.sampling.lines import GpuSample

PERIOD = 1.0  # seconds between two samples
# A sample stands until the next one is due and a little longer: samples never come quite on the second.
HOLD = 1.75  # seconds


def spaced(
    samples: Sequence[GpuSample], of: Callable[[GpuSample], float | None], now: float, step: float, count: int
) -> list[float | None]:
    """Return the last values, oldest first: each the mean of what was sampled in its time.

    Steps begin at whole multiples, so that a chart moves on without changing what it has drawn.

    Args:
        samples: oldest first.
        of: the value of a sample; None: unknown.
        now: the time at the right end, on the samples' clock.
        step: seconds that a value stands for.
        count: how many values.
    """
    last = int(now // step)
    first = last - count + 1
    inside: list[list[float | None]] = [[] for _ in range(count)]
    held: list[float | None] = [None] * count
    for sample in _since(samples, first * step - HOLD):
        at, value = int(sample.at // step), of(sample)
        if 0 <= at - first < count:
            inside[at - first].append(value)
        for later in range(max(at + 1, first), int((sample.at + HOLD) // step) + 1):
            if later - first < count:
                held[later - first] = value
    return [_mean(found) if found else held[at] for at, found in enumerate(inside)]


def _since(samples: Sequence[GpuSample], begin: float) -> Iterable[GpuSample]:
    first = len(samples)
    while first and samples[first - 1].at >= begin:
        first -= 1
    return samples[first:]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
