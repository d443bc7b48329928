"""Copies beside products: what is told of a device that overlaps them, and of one that does not."""

from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends.base import Overlap
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.tests import overlap
from tests.smoke.bench_kit import Device, Done, bench, results
from tests.smoke.still_clock import StillClock

MIB = 1 << 20
COPY, PRODUCT = 0.005, 0.0001  # seconds


class Streams(Overlap):
    """Three streams on this clock; what is queued on them runs at once as far as `together` says (1 wholly, 0 not)."""

    def __init__(self, clock: StillClock, together: float = 1.0, duplex: float = 1.0, engines: int | None = 2) -> None:
        self.clock, self.together, self.engines, self.both_ways = clock, together, engines, duplex
        self.queued = {"up": 0.0, "down": 0.0, "compute": 0.0}
        self.disorder = 0

    def copy(self) -> None:
        self.queued["up"] += COPY

    def copy_back(self) -> None:
        self.queued["down"] += COPY

    def compute(self, times: int) -> None:
        self.queued["compute"] += times * PRODUCT

    def wait(self) -> None:
        up, down, compute = self.queued.values()
        share = self.both_ways if down else self.together
        longest = max(up, down, compute)
        self.clock.now += longest + (1 - share) * (up + down + compute - longest)
        self.queued = dict.fromkeys(self.queued, 0.0)

    def ordered(self) -> int:
        return self.disorder


class Gpu(Device):
    """A device with such streams, whose host memory can be pinned up to a limit."""

    streams: Callable[[], Overlap]
    most = 1 << 40
    asked: tuple[int, ...] = ()

    def overlap(self, size: int) -> Overlap:
        self.asked = (*self.asked, size)
        if size > self.most:
            raise MemoryError("256 MiB cannot be pinned: CUDA error: out of memory")
        return self.streams()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    made = StillClock()
    monkeypatch.setattr(overlap, "time", made)
    return made


def one(streams: Overlap | None = None, **attributes: Any) -> Done:
    (done,) = results(overlap.run, bench(Gpu(streams=lambda: streams, **attributes)))
    return done


def test_a_copy_that_runs_wholly_beside_products(clock: StillClock) -> None:
    done = one(Streams(clock))
    assert done.outcome == "done"
    assert done.figures["copy"] == pytest.approx(COPY)
    assert done.figures["compute"] == pytest.approx(COPY)  # calibrated to last as long
    assert done.figures["both"] == pytest.approx(COPY)
    assert done.figures["overlap"] == pytest.approx(1.0)
    assert done.figures["duplex"] == pytest.approx(2.0)
    assert done.notes == {"size": 256 * MIB, "engines": 2, "wrong": 0}
    assert done.units == {"copy": "s", "compute": "s", "both": "s", "overlap": "ratio", "duplex": "ratio"}
    assert [len(done.samples[name]) for name in ("copy", "compute", "both", "duplex")] == [5, 5, 5, 5]


@pytest.mark.parametrize("together", [0.0, 0.5, 0.9])
def test_calls_that_wait_for_one_another(clock: StillClock, together: float) -> None:
    assert one(Streams(clock, together)).figures["overlap"] == pytest.approx(together, abs=1e-6)


class Impatient(Streams):
    """Streams on which the call of this kind waits until all is done that was queued."""

    waits = "compute"

    def copy(self) -> None:
        super().copy()
        if self.waits == "copy":
            self.wait()

    def compute(self, times: int) -> None:
        super().compute(times)
        if self.waits == "compute":
            self.wait()


@pytest.mark.parametrize("waits", ["copy", "compute"])
def test_one_kind_of_call_that_waits_shows_in_one_of_both_orders(clock: StillClock, waits: str) -> None:
    streams = Impatient(clock)
    streams.waits = waits
    assert one(streams).figures["overlap"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(("seconds", "size"), [(0.04, 256), (0.07, 64), (0.4, 16), (60.0, 4)])
def test_over_a_slow_link_less_is_copied(
    clock: StillClock, seconds: float, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Slow(Gpu):
        def overlap(self, size: int) -> Overlap:
            monkeypatch.setattr("tests.smoke.test_overlap.COPY", seconds * size / (256 * MIB))
            made.append(size)
            return Streams(clock)

    (done,) = results(overlap.run, bench(Slow()))
    assert (done.notes["size"], made[-1]) == (size * MIB, size * MIB)


def test_both_ways_no_faster_than_one(clock: StillClock) -> None:
    assert one(Streams(clock, duplex=0.0)).figures["duplex"] == pytest.approx(1.0)


@pytest.mark.parametrize(("engines", "tried"), [(0, False), (1, False), (2, True), (7, True), (None, True)])
def test_both_ways_are_tried_where_the_device_may_have_two_engines(
    clock: StillClock, engines: int | None, tried: bool
) -> None:
    done = one(Streams(clock, engines=engines))
    assert ("duplex" in done.figures) is tried
    assert done.notes["engines"] == engines


def test_a_kernel_that_does_not_wait_for_its_copy(clock: StillClock) -> None:
    streams = Streams(clock)
    streams.disorder = 7
    assert one(streams).notes["wrong"] == 3 * 7


@pytest.mark.parametrize(("product", "times"), [(COPY, 1), (20 * COPY, 1), (COPY / 50, 50), (COPY / 1e6, overlap.MOST)])
def test_products_last_as_long_as_a_copy_where_they_can(
    clock: StillClock, product: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.smoke.test_overlap.PRODUCT", product)
    assert overlap.calibrated(bench(Gpu()), Streams(clock)) == times


@pytest.mark.parametrize(
    ("copy", "compute", "both", "share"), [(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 2.0, 0.0), (1.0, 4.0, 4.5, 0.5)]
)
def test_the_share_is_of_the_shorter_one(copy: float, compute: float, both: float, share: float) -> None:
    assert overlap.overlapped(copy, compute, both) == pytest.approx(share)


def test_less_is_pinned_where_much_is_refused(clock: StillClock) -> None:
    gpu = Gpu(streams=lambda: Streams(clock), most=16 * MIB)
    (done,) = results(overlap.run, bench(gpu))
    assert gpu.asked == (256 * MIB, 64 * MIB, 16 * MIB)
    assert (done.outcome, done.notes["size"]) == ("done", 16 * MIB)


def test_where_nothing_can_be_pinned(clock: StillClock) -> None:
    done = one(Streams(clock), most=0)
    assert (done.outcome, done.result["error"]) == ("failed", "out-of-memory")
    assert done.message == "MemoryError: 256 MiB cannot be pinned: CUDA error: out of memory"


@pytest.mark.parametrize(("room", "size"), [(8 << 30, 256 * MIB), (768 * MIB, 16 * MIB), (1 << 30, 64 * MIB)])
def test_the_buffers_fit_the_memory(clock: StillClock, room: int, size: int) -> None:
    assert one(Streams(clock), room=room).notes["size"] == size


def test_too_little_memory(clock: StillClock) -> None:
    done = one(Streams(clock), room=264 * MIB)
    assert (done.outcome, done.result["error"]) == ("failed", "out-of-memory")


def test_the_cpu_has_no_link() -> None:
    (done,) = results(overlap.run, bench())
    assert (done.outcome, done.message) == (
        "unsupported",
        "There is no link for copies that overlap with matmul: this is the CPU.",
    )


def test_a_backend_without_streams(clock: StillClock) -> None:
    class Streamless(Gpu):
        def overlap(self, size: int) -> Overlap:
            raise Unsupported("It does not expose streams.")

    (done,) = results(overlap.run, bench(Streamless()))
    assert (done.outcome, done.message) == ("unsupported", "It does not expose streams.")
