"""`matmul`: are matmuls right in each data type, and how fast are they?

The whole result is compared with float64 by random projections (R. Freivalds, "Probabilistic machines can use less
running time", 1977): for vectors x of 1 and -1 the norm of C x - A (B x) is that of the error, at the cost of products
with vectors. The inputs are rounded on the CPU, so that both sides multiply the same numbers; they are drawn from the
normal distribution, because zeros let a GPU run 13 per cent faster than data does.
"""

from __future__ import annotations

from ..backends.base import OPERAND_BYTES, RESULT_BYTES
from ..runner import Unsupported
from ..timing import measure, median, warmed_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runner import Bench

CHECKED = 2048  # rows and columns of the product that is checked whole
SIZES = (8192, 6144, 4096, 3072, 2048, 1024, 512)  # of the product that is timed
HOST_BYTES = 32  # on the host for each element of a size: three matrices in float64, and one that comes and goes
LONGEST = 0.04  # seconds that one timed product may take
VECTORS = 4  # of the projection
ROWS, COLUMNS = 8, 512  # of the timed product that are compared with float64
METHOD = "median of batches of queued matmuls, clocks warm, N(0,1) data"


def run(bench: Bench) -> None:
    """Test each data type that the backend has and the user wants."""
    for dtype in bench.backend.dtypes():
        if bench.wants(dtype):
            with bench.test("matmul", dtype), bench.backend.precision(dtype):
                _one(bench, dtype)
    for dtype in bench.task.get("dtypes") or ():  # what somebody asked for by name gets an answer
        if dtype not in bench.backend.dtypes():
            with bench.test("matmul", dtype), bench.backend.precision(dtype):
                raise Unsupported("%s has no matmul in %s." % (bench.backend.name, dtype))


def _one(bench: Bench, dtype: str) -> None:
    seconds = _checked(bench, dtype, min(CHECKED, largest(bench, dtype)))
    bench.pause()
    size = largest(bench, dtype, seconds)
    _timed(bench, dtype, size)


def largest(bench: Bench, dtype: str, seconds: float | None = None) -> int:
    """The largest size whose operands and two results fit, and whose product does not take too long.

    Args:
        bench: what the test works with.
        dtype: the data type.
        seconds: that the product of the checked size took; None: unknown.

    Raises:
        MemoryError: not even the smallest fits.
    """
    each = 2 * OPERAND_BYTES[dtype] + 2 * RESULT_BYTES[dtype]
    memory, host = bench.budget(), bench.host_budget()
    fitting = [n for n in SIZES if n * n * each <= memory and n * n * HOST_BYTES <= host]
    if not fitting:
        where = "" if SIZES[-1] ** 2 * each > memory else " of the host's memory"
        least = host if where else memory
        raise MemoryError(
            "only %d MiB%s may be used, too little for matmuls of size %d" % (least >> 20, where, SIZES[-1])
        )
    if seconds is None:
        return fitting[0]
    checked = min(CHECKED, fitting[0])
    return next((n for n in fitting if seconds * (n / checked) ** 3 <= LONGEST), fitting[-1])


def _checked(bench: Bench, dtype: str, size: int) -> float:
    """Hold a whole product against float64; return the seconds that it takes."""
    backend, host = bench.backend, bench.backend.host
    a, a64 = backend.operand(host.normal(size, size, 1), dtype, "a")
    b, b64 = backend.operand(host.normal(size, size, 2), dtype, "b")
    product = backend.multiply(a, b, dtype)
    first = backend.elapsed(product, 1)
    warmed_up(bench, product)  # or the size would be chosen by an idle GPU's clock
    seconds = backend.elapsed(product, 3)
    c = backend.values(product())
    bench.figure("first call", first, "s", "first matmul of this type, with loading and compiling")
    found = deviation(bench, a64, b64, c)
    bench.figure(
        "error", found.pop("error"), "ratio", "relative Frobenius norm against float64, %d projections" % VECTORS
    )
    bench.note(checked=size, **found)
    return seconds


def deviation(bench: Bench, a: Any, b: Any, c: Any) -> dict[str, Any]:
    """How far a product is from a b: `error`, the row that is worst and how much worse than the median, and NaNs."""
    host = bench.backend.host
    wrong = int((c != c).sum()) + int((abs(c) > 1e300).sum())
    if wrong:
        return {"error": 1.0, "not_finite": wrong, "worst_row": -1, "worst_ratio": 0.0}
    x = host.signs(len(c), VECTORS, 3)
    residual = c @ x - a @ (b @ x)
    rows = [r**0.5 for r in (residual * residual).sum(1).tolist()]
    usual, worst = median(rows), max(rows)
    return {
        "error": host.norm(residual) / (VECTORS**0.5 * host.norm(c)),
        "not_finite": 0,
        "worst_row": rows.index(worst),
        "worst_ratio": worst / usual if usual else 0.0,
    }


def _timed(bench: Bench, dtype: str, size: int) -> None:
    backend, host = bench.backend, bench.backend.host
    a, a64 = backend.operand(host.normal(size, size, 4), dtype, "a")
    b, b64 = backend.operand(host.normal(size, size, 5), dtype, "b")
    left, right = a64[:ROWS] * 1.0, b64[:, :COLUMNS] * 1.0
    del a64, b64
    product, again = backend.multiply(a, b, dtype), backend.multiply(a, b, dtype)
    first = product()
    samples = measure(bench, again)
    rates = [2e-12 * size**3 / s for s in samples.seconds]
    bench.figure("rate", median(rates), "TFLOP/s", METHOD, rates)
    bench.note(size=size, variation=samples.variation, not_repeated=backend.unequal(first, again()))
    part = left @ right
    bench.note(part_error=host.norm(backend.values(first[:ROWS, :COLUMNS]) - part) / host.norm(part))
    _beside_the_cpu(bench, median(rates))


def _beside_the_cpu(bench: Bench, rate: float) -> None:
    """The CPU's own rate in float32, once a run, and the speed-up."""
    if bench.backend.kind == "cpu":
        return
    cpu = bench.kept("cpu rate", lambda: cpu_rate(bench))
    bench.figure("cpu rate", cpu, "TFLOP/s", "float32 on the CPU, %d x %d" % (CPU_SIZE, CPU_SIZE))
    bench.figure("speed-up", rate / cpu, "ratio", "rate over the CPU's rate in float32")


CPU_SIZE = 1024


def cpu_rate(bench: Bench) -> float:
    """TFLOP/s of the CPU in float32, with as many threads as this process has."""
    import time

    host = bench.backend.host
    a, b = host.normal(CPU_SIZE, CPU_SIZE, 6), host.normal(CPU_SIZE, CPU_SIZE, 7)
    a @ b
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - begun)
    return 2e-12 * CPU_SIZE**3 / median(seconds)
