"""`bandwidth`: how fast is the device's own memory, and does it hold what was written?

Vectors are so long that the level-2 cache holds an eighth of one at most. They hold small integers, so that sums and
products are exact and every element can be checked.
"""

from __future__ import annotations

from ..timing import measure, median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..runner import Bench

FLOAT = 4  # bytes
LEAST, SMALLEST, ON_CPU = 256 << 20, 4 << 20, 64 << 20  # bytes of a vector
CACHES = 8  # times the level-2 cache
UNKNOWN_CACHE = 64 << 20  # bytes, where the backend cannot say: more than most GPUs have
VECTORS = 3


def run(bench: Bench) -> None:
    """Test copying, the triad z = x + 3 y, and reading."""
    with bench.test("bandwidth"):
        _one(bench)


def length(bench: Bench) -> int:
    """The bytes of one vector.

    Raises:
        MemoryError: there is room for too little.
    """
    room = bench.budget() // VECTORS
    cache = bench.backend.cache or UNKNOWN_CACHE
    wanted = ON_CPU if bench.backend.kind == "cpu" else max(LEAST, CACHES * cache)
    if room < SMALLEST:
        raise MemoryError("only %d MiB of memory may be used, too little for three vectors" % (bench.budget() >> 20))
    return min(wanted, room) // FLOAT * FLOAT


def _one(bench: Bench) -> None:
    size = length(bench)
    vectors = bench.backend.vectors(size // FLOAT)
    bench.note(size=size)
    variation = max(
        _rate(bench, "copy", vectors.copy, 2 * size),
        _rate(bench, "triad", vectors.triad, vectors.triad_bytes * size),
    )
    bench.note(wrong=vectors.wrong())
    bench.note(variation=max(variation, _rate(bench, "read", vectors.read, size)))


def _rate(bench: Bench, name: str, call: Callable[[], Any], moved: int) -> float:
    """Tell the rate of a call that moves so many bytes; return the variation of its batches."""
    samples = measure(bench, call)
    rates = [1e-9 * moved / s for s in samples.seconds]
    bench.figure(name, median(rates), "GB/s", "median of batches, bytes read and written", rates)
    return samples.variation
