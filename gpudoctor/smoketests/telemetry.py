"""Makes of a GPU's samples what is told of one test, and what was on the GPU before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from operator import or_
from statistics import median
from typing import TypeVar

import msgspec

from gpudoctor.facts.smoke import During
from gpudoctor.knowledge.nvml import event_reasons, nvml_names
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.sampling.lines import Counters, GpuSample

N = TypeVar("N", int, float)
Window = tuple[float, float]  # from when to when, by time.monotonic()

# A measurement that lies between two samples is told by the next one: clocks stay up for a while after the work.
AFTER = 0.06  # seconds: a period of the sampler and a little
# NVML's utilization is an average over a sixth of a second to a second, by product (nvmlDeviceGetUtilizationRates).
RECENT = 1.0  # seconds
IDLE = "gpu-idle"
COUNTERS = (
    "ecc_corrected",
    "ecc_uncorrected",
    "pcie_replays",
    "nvlink_replays",
    "nvlink_recoveries",
    "nvlink_crc",
)
BACK = Unknown("the counter went backwards, as after a GPU reset")


def during(
    samples: Iterable[GpuSample],
    counters: Iterable[Counters],
    window: Window,
    timed: Sequence[Window],
    why: str | None,
) -> During:
    """What the driver said during a test.

    Args:
        samples: of the GPU, oldest first.
        counters: likewise.
        window: from when to when the test ran.
        timed: when the device was busy with what is measured; empty: all the time.
        why: why samples are missing, where something went wrong; None: they are only far between.
    """
    inside = [sample for sample in samples if window[0] <= sample.at <= window[1]]
    measured = _working(_timed(inside, timed or (window,)))
    missing = Unknown(why or "the test was over before the driver was queried again")
    readings = tuple(counters)
    generation, width = _link(inside, missing)
    return During(
        samples=len(inside),
        sm_clock=_one((s.sm_clock for s in measured), median, missing),
        sm_clock_min=_one((s.sm_clock for s in measured), min, missing),
        memory_clock=_one((s.memory_clock for s in measured), median, missing),
        temperature=_one((s.temperature for s in inside), max, missing),
        power=_one((s.power for s in inside), max, missing),
        reasons=_reasons(inside, missing),
        link_generation=generation,
        link_width=width,
        **{name: _growth(readings, name, window, why) for name in COUNTERS},
    )


def nothing(why: str) -> During:
    """What is known where no driver was asked: everything is unknown for one reason."""
    fields = (f.name for f in msgspec.structs.fields(During) if f.name != "samples")
    return During(**dict.fromkeys(fields, Unknown(why)))  # type: ignore[arg-type]


def busy(
    samples: Iterable[GpuSample],
    counters: Iterable[Counters],
    before: float,
    why: str | None,
    ours: Sequence[Window] = (),
) -> tuple[Maybe[int | None], Maybe[int | None]]:
    """What was on a GPU at a moment: how many others computed, and its utilization in per cent (median of a second).

    Args:
        samples: of the GPU, oldest first.
        counters: likewise.
        before: the moment, before our own work began.
        why: why there are none, where something went wrong.
        ours: when work of ours before was on it, oldest first: where that was just now, the second before it counts.
    """
    missing = Unknown(why or "the driver had not responded before the tests began")
    moment = before
    for begun, ended in reversed(ours):
        if moment - ended >= 2 * RECENT:  # a second for the average to forget us, and one to look at
            break
        moment = min(moment, begun)
    shares = [s.utilization for s in samples if moment - RECENT <= s.at <= moment]
    found = [c.others for c in counters if c.at <= before]
    used = _one(shares, lambda numbers: round(median(numbers)), missing)
    return found[-1] if found else missing, used


def _one(values: Iterable[Maybe[N | None]], choose: Callable[[list[N]], N], missing: Unknown) -> Maybe[N | None]:
    """One number of many; without any None, if the GPU has no such thing, else why it is unknown."""
    reported = list(values)
    numbers = [value for value in reported if value is not None and not isinstance(value, Unknown)]
    if numbers:
        return choose(numbers)
    return None if None in reported else next((value for value in reported if isinstance(value, Unknown)), missing)


# -- samples -------------------------------------------------------------------------------------------------


def _timed(samples: Sequence[GpuSample], timed: Sequence[Window]) -> list[GpuSample]:
    """The samples that fell into a measurement; where none did, those that followed one at once."""
    for after in (0.0, AFTER):
        found = [s for s in samples if any(begun <= s.at <= ended + after for begun, ended in timed)]
        if found:
            return found
    return []


def _working(samples: list[GpuSample]) -> list[GpuSample]:
    """The samples in which the GPU was not idle, so that its clocks say something; all, where it always was."""
    return [s for s in samples if not (isinstance(s.event_reasons, int) and s.event_reasons & _idle())] or samples


def _bits(sample: GpuSample) -> Maybe[int | None]:
    """NVML's bits; a sampler never writes their names, as a recording may."""
    reported = sample.event_reasons
    return Unknown("told by name") if isinstance(reported, tuple) else reported


@cache
def _idle() -> int:
    """The bit that says that there is nothing to do."""
    return next(1 << at for at, name in nvml_names().event_reasons.items() if name == IDLE)


def _reasons(samples: Sequence[GpuSample], missing: Unknown) -> Maybe[tuple[str, ...] | None]:
    """Whatever held the clocks in any sample; to be idle holds nothing back."""
    bits = _one((_bits(s) for s in samples), lambda each: reduce(or_, each), missing)
    return event_reasons(bits & ~_idle()) if isinstance(bits, int) else bits


def _link(samples: Sequence[GpuSample], missing: Unknown) -> tuple[Maybe[int | None], Maybe[int | None]]:
    """The fastest link that was seen, generation first: links train up under load and down without."""
    pairs = [
        (s.link_generation, s.link_width)
        for s in samples
        if isinstance(s.link_generation, int) and isinstance(s.link_width, int)
    ]
    if pairs:
        return max(pairs)
    return (
        _one((s.link_generation for s in samples), max, missing),
        _one((s.link_width for s in samples), max, missing),
    )


# -- counters ------------------------------------------------------------------------------------------------


def _growth(counters: Sequence[Counters], name: str, window: Window, why: str | None) -> Maybe[int | None]:
    """By how much a counter grew, as its last reading before the test and its first after it tell.

    Where one of them is missing, what grew in between is told all the same; that nothing grew is not known then.
    """
    begun, ended = window
    reported = [(c.at, getattr(c, name)) for c in counters]
    readings = [(at, value) for at, value in reported if isinstance(value, int)]
    before = [value for at, value in readings if at <= begun][-1:]
    after = [value for at, value in readings if at >= ended][:1]
    found = [*before, *(value for at, value in readings if begun < at < ended), *after]
    grown = found[-1] - found[0] if found else 0
    if grown:
        return grown if grown > 0 else BACK
    if before and after:
        return 0
    others = [value for at, value in reported if at > begun and not isinstance(value, int)]
    missing = Unknown(why or "the counter was not read both before and after the test")
    return others[0] if others else missing
