"""How far from float64 a matmul may be in each data type, and what a difference means."""

from typing import Literal

import msgspec

from gpudoctor.facts import SmokeTest
from gpudoctor.queries.smoke import count, dtype_of, many, noted

Kind = Literal["right", "reduced", "tf32", "exact", "wrong"]


class Bounds(msgspec.Struct, frozen=True):
    """Relative Frobenius norms of the error: up to `rounding` it is rounding, above `wrong` it is not."""

    rounding: float
    wrong: float


# Products of N(0,1) data with float32 accumulation, against float64 of the same rounded inputs. Emulated for sums of
# 1024 to 8192 terms: fp32 3e-7 (a sum in plain sequence 3e-6), tf32 2.9e-4 (rounded inputs) to 7.7e-4 (cut off),
# fp16 2.1e-4, bf16 1.65e-3, fp8 with a 14-bit accumulator 3.6e-3. Partial sums in the 16-bit type itself (split-K)
# give 5e-4 and 4e-3.
BOUNDS = {
    "fp64": Bounds(1e-13, 1e-13),
    "fp32": Bounds(1e-5, 1e-5),
    "tf32": Bounds(1.5e-3, 1.5e-3),
    "fp16": Bounds(4e-4, 2e-3),
    "bf16": Bounds(3e-3, 1.2e-2),
    "fp8": Bounds(1e-2, 3e-2),
}
# float32 with inputs of ten bits of mantissa, as in TF32.
TF32_LEAST, TF32_MOST = 1.5e-4, 1.5e-3
EXACT = 5e-5  # TF32 that is closer to float64 than that used all 23 bits
# The rows of a right result are all about equally far off: the worst of 2048 was 3.2 times the median.
ODD_ROW = 6.0


def kind_of(dtype: str, error: float) -> Kind:
    """What an error means; NaN is wrong."""
    bounds = BOUNDS.get(dtype)
    if bounds is None or error <= bounds.rounding:
        return "exact" if dtype == "tf32" and error < EXACT else "right"
    if dtype == "fp32" and TF32_LEAST <= error <= TF32_MOST:
        return "tf32"
    return "reduced" if error <= bounds.wrong else "wrong"


def errors(test: SmokeTest) -> tuple[float, ...]:
    """The errors that a test measured: of the result that was checked whole, and of a part of the large one."""
    found = test.figure("error"), noted(test, "part_error")
    return tuple(error for error in found if error is not None)


def kinds(test: SmokeTest) -> tuple[Kind, ...]:
    """What each of its errors means."""
    return tuple(kind_of(dtype_of(test), error) for error in errors(test))


def wrong(test: SmokeTest) -> str | None:
    """What is wrong with a test's matmuls, in brief; None where nothing is."""
    dtype = dtype_of(test)
    lost = count(test, "not_finite")
    if lost:
        return f"{dtype}: {many(lost, 'element')} Inf or NaN"
    far = [error for error in errors(test) if kind_of(dtype, error) == "wrong"]
    if far:
        bound = BOUNDS[dtype].rounding
        return f"{dtype}: the relative error is {max(far):.1e}; rounding explains at most {bound:.0e}"
    ratio = noted(test, "worst_ratio") or 0.0
    if ratio > ODD_ROW:
        return f"{dtype}: row {count(test, 'worst_row')} is {ratio:.0f} times as far off as the others"
    return None
