"""`overlap`: does a copy run next to products, as data loaders count on, and do streams keep their order?

Copy and products that take equally long alone should take hardly longer together, whichever is queued first. Where they
take as long as one after the other, something makes calls wait: products first and then the copy with
CUDA_LAUNCH_BLOCKING=1, the copy first and then products with pageable memory, both without a copy engine.
"""

from __future__ import annotations

import time

from ..runner import Unsupported
from ..timing import median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..runner import Bench

MIB = 1 << 20
SIZES = (256 * MIB, 64 * MIB, 16 * MIB, 4 * MIB)  # of the copy; WSL pins little memory
ROUNDS = 5
WARM_UP = 0.1  # seconds, in which a GPU reaches its clock and a link its generation
ORDERED = 3  # times that the order of streams is checked
MOST = 500  # products in one go; from some thousand on the driver's queue is full, and queueing itself waits
LONGEST = 0.05  # seconds of one copy, so that the run can be ended
TWO_ENGINES = 2


def run(bench: Bench) -> None:
    """Test one direction next to products, and both directions at once where the device has two copy engines."""
    with bench.test("overlap"):
        if bench.backend.kind == "cpu":
            raise Unsupported("There is no link for copies that overlap with matmul: this is the CPU.")
        size, both = prepared(bench)
        bench.note(size=size, engines=both.engines)
        wrong = 0
        for _ in range(ORDERED):
            bench.pause()
            wrong += both.ordered()
        bench.note(wrong=wrong)
        _one(bench, both)


def prepared(bench: Bench) -> tuple[int, Any]:
    """The largest buffers that fit, can be pinned and are copied in a moment; their size in bytes.

    Raises:
        MemoryError: not even the smallest fits or can be pinned.
    """
    room = bench.budget() // 4
    refused: MemoryError | None = None
    for size in (each for each in SIZES if each <= room):
        try:
            both = bench.backend.overlap(size)
        except MemoryError as error:
            refused = error
            continue
        _warmed_up(bench, both)
        if seconds(bench, both, both.copy) <= LONGEST or size == SIZES[-1]:
            return size, both
    raise refused or MemoryError(
        "only %d MiB of memory may be used, too little for a copy next to matmuls" % (4 * room // MIB)
    )


def _one(bench: Bench, both: Any) -> None:
    """Time copies, products and both; and copies in both directions."""
    times = calibrated(bench, both)
    begun = time.monotonic()
    copy, compute, together = [], [], []
    for _ in range(ROUNDS):
        copy.append(seconds(bench, both, both.copy))
        compute.append(seconds(bench, both, lambda: both.compute(times)))
        first = seconds(bench, both, both.copy, lambda: both.compute(times))
        together.append(max(first, seconds(bench, both, lambda: both.compute(times), both.copy)))
    duplex = _duplex(bench, both)
    bench.timed(begun, time.monotonic())
    bench.figure("copy", median(copy), "s", "one copy to the device, pinned", copy)
    bench.figure("compute", median(compute), "s", "%d matmuls" % times, compute)
    bench.figure("both", median(together), "s", "both, each on its stream, in the order that takes longer", together)
    share = overlapped(median(copy), median(compute), median(together))
    bench.figure("overlap", share, "ratio", "(copy + compute - both) over the shorter one")
    if duplex:
        ways = [2 * median(copy) / each for each in duplex]
        bench.figure("duplex", median(ways), "ratio", "bytes a second both ways over one way", ways)


def overlapped(copy: float, compute: float, both: float) -> float:
    """Which part of the shorter one ran next to the longer one: 1 all of it, 0 nothing."""
    return (copy + compute - both) / min(copy, compute)


def seconds(bench: Bench, both: Any, *calls: Callable[[], None]) -> float:
    """The seconds from the first call until all streams are done."""
    bench.pause()
    both.wait()
    begun = time.perf_counter()
    for call in calls:
        call()
    both.wait()
    return time.perf_counter() - begun


def _warmed_up(bench: Bench, both: Any) -> None:
    begun = time.monotonic()
    while time.monotonic() - begun < WARM_UP:
        seconds(bench, both, both.copy, lambda: both.compute(8))


def calibrated(bench: Bench, both: Any) -> int:
    """How many products take as long as one copy; counted twice, because a few of them are mostly waiting."""
    copy, times = min(seconds(bench, both, both.copy) for _ in range(3)), 8
    for _ in range(2):
        once = seconds(bench, both, lambda: both.compute(times)) / times  # noqa: B023 (called at once)
        times = max(1, min(MOST, round(copy / once)))
    return times


def _duplex(bench: Bench, both: Any) -> list[float]:
    """Seconds of a copy each way at once; nothing where the device has one copy engine."""
    if both.engines is not None and both.engines < TWO_ENGINES:
        return []
    seconds(bench, both, both.copy, both.copy_back)
    return [seconds(bench, both, both.copy, both.copy_back) for _ in range(ROUNDS)]
