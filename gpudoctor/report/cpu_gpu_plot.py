"""What is drawn of the comparison of a GPU with the CPU: speeds over sizes, both on scales of powers of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from gpudoctor.report.cpu_gpu_model import ComparedPart, ComparedSize
from gpudoctor.report.numbers import amount
from gpudoctor.workers.smoke.tests.compare import STEPS

UNITS = {"matmul": "TFLOP/s", "training": "samples/s", "inference": "images/s"}
CPU, GPU, COPIED = "cpu", "gpu", "copied"
NAMES = {CPU: "CPU", GPU: "GPU", COPIED: "GPU with copies"}


class SpeedCurve(msgspec.Struct, frozen=True):
    """One device's speeds; None: not measured at this size."""

    device: str  # cpu, gpu, copied
    speeds: tuple[float | None, ...]


class SpeedPlot(msgspec.Struct, frozen=True):
    """The curves of one kind of work.

    Attributes:
        unit: of the speeds.
        sizes: ascending.
        curves: those of which something was measured.
        low, high: the decimal logarithms between which all of them are.
    """

    unit: str
    sizes: tuple[int, ...]
    curves: tuple[SpeedCurve, ...]
    low: float
    high: float

    def height(self, speed: float) -> float:
        """Where a speed is on the scale, from 0 to 1."""
        return (math.log10(speed) - self.low) / (self.high - self.low)


def plot(part: ComparedPart) -> SpeedPlot | None:
    """The curves of a part; None where it has no sizes, or nothing was measured."""
    sized = [size for size in part.sizes if size.size]
    if part.part not in UNITS or not sized:
        return None
    curves = [
        SpeedCurve(CPU, tuple(_speed(part, size, size.cpu) for size in sized)),
        SpeedCurve(GPU, tuple(_speed(part, size, size.gpu) for size in sized)),
        SpeedCurve(COPIED, tuple(_speed(part, size, size.gpu_with_copies) for size in sized)),
    ]
    there = tuple(curve for curve in curves if any(curve.speeds))
    exponents = [math.log10(speed) for curve in there for speed in curve.speeds if speed]
    if not exponents:
        return None
    low = math.floor(min(exponents))
    high = max(low + 1, math.ceil(max(exponents)))
    return SpeedPlot(UNITS[part.part], tuple(size.size or 0 for size in sized), there, low, high)


def _speed(part: ComparedPart, size: ComparedSize, value: float | None) -> float | None:
    if not value or not size.size:
        return None
    if part.part == "matmul":
        return 2e-12 * size.size**3 / value
    return size.size * STEPS / value if part.part == "training" else value


def power(exponent: float) -> str:
    """A power of ten as people read it."""
    return f"{10.0**exponent:,g}" if -4 < exponent < 6 else f"1e{exponent:.0f}"


def described(drawn: SpeedPlot, heading: str) -> str:
    """The picture in words, for those who cannot see it."""
    return f"{heading}: " + "; ".join(
        f"{NAMES[curve.device]} {_listed(drawn.sizes, curve.speeds)} {drawn.unit}" for curve in drawn.curves
    )


def _listed(sizes: Sequence[int], speeds: Sequence[float | None]) -> str:
    return ", ".join(f"{size:,}: {amount(speed)}" for size, speed in zip(sizes, speeds, strict=True) if speed)
