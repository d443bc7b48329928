"""What rounding does to products in each data type, emulated on the CPU, beside the bounds that checks hold it against.

And how far the row of one wrong element stands out in the check by random projections.
"""

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from doctor import ROOT
from freivalds import as_bf16, inside
from rows import Row

sys.path.insert(0, str(ROOT))

from gpudoctor.queries.smoke.errors import BOUNDS, ODD_ROW

LENGTHS = (1024, 8192)  # terms of a sum
ROWS, COLUMNS, SPLIT = 64, 512, 8
SIZE, TRIES = 2048, 10  # of the products whose rows are compared
TF32_BITS = 13  # bits of the mantissa that TF32 has less than float32


def as_fp16(array: Any) -> Any:
    """float32 rounded to the nearest number that fp16 has."""
    return array.astype(np.float16).astype(np.float32)


def as_tf32(array: Any) -> Any:
    """float32 rounded to the nearest number that TF32 has."""
    return ((array.view(np.uint32) + (1 << TF32_BITS - 1)) >> TF32_BITS << TF32_BITS).view(np.float32)


def cut(array: Any) -> Any:
    """float32 with the bits cut off that TF32 has not."""
    return (array.view(np.uint32) >> TF32_BITS << TF32_BITS).view(np.float32)


def rows(say: Callable[[str], object]) -> list[Row]:
    """Errors by data type, and odd rows."""
    say("errors by data type, emulated")
    found = [row for length in LENGTHS for row in _errors(length)]
    say(f"rows of {SIZE} x {SIZE} products")
    return found + list(_odd_rows())


def _errors(length: int) -> Iterator[Row]:
    random = np.random.default_rng(length)
    a = random.standard_normal((ROWS, length), dtype=np.float32)
    b = random.standard_normal((length, COLUMNS), dtype=np.float32)
    what = f"emulated, sums of {length}:"
    yield Row(f"{what} fp32", _far(a @ b, a, b), None, "ratio", "<=", BOUNDS["fp32"].well)
    for name, seen in (("rounded", as_tf32), ("cut off", cut)):
        error = _far(seen(a) @ seen(b), a, b)
        yield Row(f"{what} tf32, operands {name}", error, None, "ratio", "<=", BOUNDS["tf32"].well)
    for dtype, to in (("fp16", as_fp16), ("bf16", as_bf16)):
        x, y = to(a), to(b)
        yield Row(f"{what} {dtype}", _far(to(x @ y), x, y), None, "ratio", "<=", BOUNDS[dtype].well)
        error = _far(_split(x, y, to), x, y)
        yield Row(f"{what} {dtype}, {SPLIT} partial sums in it", error, None, "ratio", "<=", BOUNDS[dtype].wrong)


def _far(found: Any, a: Any, b: Any) -> float:
    """The relative Frobenius norm of the error."""
    true = a.astype(np.float64) @ b.astype(np.float64)
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


def _split(x: Any, y: Any, to: Callable[[Any], Any]) -> Any:
    """A product whose parts are rounded before each addition."""
    width, found = x.shape[1] // SPLIT, np.zeros((len(x), y.shape[1]), np.float32)
    for part in range(SPLIT):
        piece = slice(part * width, (part + 1) * width)
        found = to(found + to(x[:, piece] @ y[piece]))
    return found


def _odd_rows() -> Iterator[Row]:
    """The worst row over the median: of right products, and of one with an element off by the usual size of one."""
    load = inside()
    deviation, host = load("tests.matmul").deviation, load("host").Host()
    bench = SimpleNamespace(backend=SimpleNamespace(host=host))
    for dtype, to in (("fp32", lambda x: x), ("fp16", as_fp16), ("bf16", as_bf16)):
        clean, odd = [], []
        for seed in range(TRIES):
            a, b = (to(host.normal(SIZE, SIZE, 100 + 2 * seed + side)) for side in (0, 1))
            c = to(a @ b)
            double = [array.astype(np.float64) for array in (a, b, c)]
            clean.append(deviation(bench, *double)["worst_ratio"])
            double[2][seed * 97, 5] += SIZE**0.5
            odd.append(deviation(bench, *double)["worst_ratio"])
        why = f"most of {TRIES}"
        yield Row(f"{dtype}: worst row of a right product", max(clean), None, "medians", "<=", ODD_ROW, why)
        why = f"least of {TRIES}"
        yield Row(f"{dtype}: row with one element off by its size", min(odd), None, "medians", ">=", ODD_ROW, why)
