"""`fused`: do kernels that are compiled for the occasion compile, agree, and beat the operations one by one?

Each way (torch.compile, Triton, XLA ...) is a test of its own: one that fails, often for lack of a C compiler or of
headers, does not hide another, and its words are kept.
"""

from __future__ import annotations

import time

from ..timing import measure, median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..backends.base import Fused
    from ..runner import Bench

FLOAT = 4  # bytes
ELEMENTS, ON_CPU, FEWEST = 64 << 20, 1 << 20, 1 << 16
VECTORS = 8  # that the operations one by one may hold at a time
MOVED = 2  # vectors that the compiled kernel reads or writes


def run(bench: Bench) -> None:
    """Test each way that the backend has."""
    bench.begin("fused")  # what is imported and taken for all ways counts for the first
    elements = length(bench)
    ways = bench.backend.fused(elements)
    while ways:
        way = ways.pop(0)
        bench.pause()
        with bench.test("fused", way.way):
            _one(bench, way, elements)


def length(bench: Bench) -> int:
    """The elements of the vectors."""
    wanted = ON_CPU if bench.backend.kind == "cpu" else ELEMENTS
    return max(FEWEST, min(wanted, bench.budget() // (FLOAT * VECTORS)))


def _one(bench: Bench, way: Fused, elements: int) -> None:
    begun = time.perf_counter()
    way.compile()
    bench.backend.synchronize()
    seconds = way.compile_seconds or time.perf_counter() - begun
    bench.figure("compile", seconds, "s", "compilation and first run, nothing cached")
    bench.figure("error", way.error(), "ratio", "largest relative difference from float64 on the CPU, over a sample")
    bench.pause()
    fused, eager = measure(bench, way.fused), measure(bench, way.eager)
    rates = [1e-9 * MOVED * FLOAT * elements / s for s in fused.seconds]
    bench.figure("rate", median(rates), "GB/s", "median of batches, %d Mi elements" % (elements >> 20), rates)
    bench.figure("speed-up", eager.median / fused.median, "ratio", "over the operations one by one")
