"""`stress`: is the same product the same bits each time, for seconds on end, with the device at full load?

After gpu-burn (https://github.com/wilicc/gpu-burn): one pair of matrices, its product written into one buffer after the
other, and each buffer, before it is written again, compared with the first, which was compared with float64. A bit that
flips, in the arithmetic or in memory, shows as an element that differs. Ten seconds prove less than DCGM's three
minutes.
"""

from __future__ import annotations

import time

from ..backends.base import OPERAND_BYTES, RESULT_BYTES
from ..timing import measure, median
from .matmul import deviation, largest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..runner import Bench

SECONDS, MOST_SECONDS = 10.0, 600.0
PIECE = 0.04  # seconds of products that are queued at once
WINDOW = 1.0  # seconds of which the rate is a sample
MOST_BUFFERS, BUFFERS_ON_CPU = 64, 4
LARGEST_ON_CPU = 1024
PROBED = 2048  # rows and columns of the product whose time tells how large one may be
SHORT = 0.5  # seconds under which the last window has no rate of its own
METHOD = "matmuls compared bit for bit, one sample per second"


def run(bench: Bench) -> None:
    """Test in bf16 where the backend has it, else in fp32; in what the user wants where that is neither."""
    dtype = chosen(bench)
    with bench.test("stress"), bench.backend.precision(dtype):
        _one(bench, dtype)


def chosen(bench: Bench) -> str:
    """The data type: it should load the device as much as can be."""
    wanted = [d for d in ("bf16", "fp32") if bench.wants(d)] or list(bench.task["dtypes"])
    return str(next((dtype for dtype in wanted if bench.has(dtype)), wanted[0]))


class Burn:
    """One product again and again.

    Attributes:
        size: rows and columns.
        calls: of each buffer what queues the product into it; the first buffer is written once.
        results: the arrays.
        products, wrong, not_finite: counted so far.
        rates: TFLOP/s of each window.
    """

    def __init__(self, bench: Bench, dtype: str, size: int) -> None:
        self.bench, self.dtype, self.size = bench, dtype, size
        host, backend = bench.backend.host, bench.backend
        a, a64 = backend.operand(host.normal(size, size, 8), dtype, "a")
        b, b64 = backend.operand(host.normal(size, size, 9), dtype, "b")
        count = buffers(bench, dtype, size)
        self.calls: list[Callable[[], Any]] = [backend.multiply(a, b, dtype) for _ in range(count)]
        self.results: list[Any] = [self.calls[0]()] + [None] * (count - 1)
        self.products, self.wrong, self.not_finite = 0, 0, 0
        self.rates: list[float] = []
        self._next, self._window, self._busy = 1, 0, 0.0
        found = deviation(bench, a64, b64, backend.values(self.results[0]))
        bench.figure("error", found.pop("error"), "ratio", "of the first matmul, against float64 by projections")
        self.not_finite += found.pop("not_finite")
        bench.note(**found)

    def multiply(self) -> None:
        """Queue the product into the next buffer."""
        self.results[self._next] = self.calls[self._next]()
        self._next = self._next % (len(self.calls) - 1) + 1

    def work(self, times: int) -> None:
        """Multiply so many times, into no buffer twice, and compare what came out with the first product."""
        self._busy += times * self.bench.backend.elapsed(self.multiply, times)
        self._window += times
        self.products += times
        for back in range(times):
            self.bench.pause()
            self._compare((self._next - 2 - back) % (len(self.calls) - 1) + 1)

    def _compare(self, at: int) -> None:
        unequal = self.bench.backend.unequal
        wrong = int(unequal(self.results[0], self.results[at]))
        self.wrong += wrong
        self.not_finite += int(unequal(self.results[at], self.results[at])) if wrong else 0  # NaN differs from itself

    def close_window(self, seconds: float) -> None:
        """Keep the rate of the products since the window before; the last may be too short to have one."""
        if self._window and (seconds >= SHORT or not self.rates):
            self.rates.append(2e-12 * self.size**3 * self._window / self._busy)
        self._window, self._busy = 0, 0.0


def buffers(bench: Bench, dtype: str, size: int) -> int:
    """How many results there is room for next to the operands: two at least, because `largest` left it."""
    if bench.backend.kind == "cpu":
        return BUFFERS_ON_CPU
    room = bench.budget() - 2 * OPERAND_BYTES[dtype] * size * size
    return max(2, min(MOST_BUFFERS, room // (RESULT_BYTES[dtype] * size * size)))


def _one(bench: Bench, dtype: str) -> None:
    seconds = min(MOST_SECONDS, float(bench.task.get("seconds") or SECONDS))
    burn = Burn(bench, dtype, _size(bench, dtype))
    bench.note(dtype=dtype, size=burn.size, buffers=len(burn.calls))
    samples = measure(bench, burn.multiply)
    begun = time.monotonic()
    try:
        _burn(burn, seconds, max(1, min(len(burn.calls) - 1, int(PIECE / samples.median))))
    finally:
        _tell(bench, burn, begun)


def _size(bench: Bench, dtype: str) -> int:
    """As large as for `matmul`, whose product takes no more than a moment; on the CPU modest."""
    backend, host = bench.backend, bench.backend.host
    size = min(PROBED, largest(bench, dtype))
    a, _ = backend.operand(host.normal(size, size, 1), dtype, "a")
    b, _ = backend.operand(host.normal(size, size, 2), dtype, "b")
    product = backend.multiply(a, b, dtype)
    backend.elapsed(product, 1)
    size = largest(bench, dtype, backend.elapsed(product, 3))
    return min(size, LARGEST_ON_CPU) if backend.kind == "cpu" else size


def _burn(burn: Burn, seconds: float, times: int) -> None:
    bench, begun = burn.bench, time.monotonic()
    while time.monotonic() - begun < seconds:
        window = time.monotonic()
        while time.monotonic() - window < WINDOW and time.monotonic() - begun < seconds:
            bench.pause()
            burn.work(times)
        burn.close_window(time.monotonic() - window)
        bench.progress(min(1.0, (time.monotonic() - begun) / seconds))


def _tell(bench: Bench, burn: Burn, begun: float) -> None:
    """Tell what was counted, also where the run was ended early."""
    ended = time.monotonic()
    bench.timed(begun, ended)
    bench.note(wrong=burn.wrong, not_finite=burn.not_finite, products=burn.products, seconds=round(ended - begun, 3))
    if burn.rates:
        bench.figure("rate", median(burn.rates), "TFLOP/s", METHOD, burn.rates)
    third = len(burn.rates) // 3
    if third:
        ratio = median(burn.rates[-third:]) / median(burn.rates[:third])
        bench.figure("last third", ratio, "ratio", "rate of the last third over that of the first")
