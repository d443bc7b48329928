"""Whether a speed that was measured may be judged, and how much of the limit it reached."""

import msgspec

from gpudoctor.check_engine import Severity
from gpudoctor.facts import Facts, GpuProcess, SmokeRun, SmokeTest
from gpudoctor.knowledge import gpu_peaks
from gpudoctor.maybe import Maybe, Unknown, UnknownFactError, known
from gpudoctor.queries.gpus import BUSY
from gpudoctor.queries.smoke import OnRun
from gpudoctor.queries.smoke.limits import Limit, limit, product, target
from gpudoctor.targets import gpus_of

# Where the clock during the test is not known, the limit is the data sheet's, and a fifth less is accepted.
LOOSE = 0.8


class SpeedThresholds(msgspec.Struct, frozen=True):
    """The parts of a limit under which a speed is low, and too low; None: no such threshold."""

    low: float
    bad: float | None = None

    def severity(self, part: float) -> Severity | None:
        """The severity of reaching only this part; None where it is enough."""
        if self.bad is not None and part < self.bad:
            return Severity.ERROR
        return Severity.WARNING if part < self.low else None


# Matmul. Healthy GPUs of the measured models reach 0.71 (fp8) to 0.9 of what their clock allows
# (stas00/ml-engineering, MAMF); DCGM ends a part at three quarters of what NVIDIA measured, about 0.6. Where nobody
# published anything, only what is far off is reported, and as a warning.
TENSOR, FP8, AMD = SpeedThresholds(0.65, 0.45), SpeedThresholds(0.55, 0.45), SpeedThresholds(0.40)
UNMEASURED, UNMEASURED_FP32 = SpeedThresholds(0.45), SpeedThresholds(0.40)
# Memory. Measured parts reach 0.72 to 0.91 of the data sheet by the kind of copy, GDDR with ECC 0.76 and more;
# DCGM's own floor for an H100 is 0.57.
HBM, GDDR, UNKNOWN_MEMORY = SpeedThresholds(0.70, 0.50), SpeedThresholds(0.65, 0.50), SpeedThresholds(0.50)
# NVLink, one way between two GPUs 0.83 to 0.91, summed by a ring 0.8 and more (stas00/ml-engineering, network).
PEER, ALLREDUCE = SpeedThresholds(0.70, 0.55), SpeedThresholds(0.65, 0.45)


def product_lines(on: OnRun, dtype: str) -> SpeedThresholds | None:
    """The thresholds for matmul in a data type on this GPU; None where nothing is known about its model."""
    kind = target(on.gpu) if on.gpu else None
    if on.gpu is None or kind is None:
        return None
    measured = gpu_peaks.is_measured(kind, dtype)
    if on.gpu.vendor == "amd":
        return AMD if measured else None
    if measured:
        return FP8 if dtype == "fp8" else TENSOR
    return UNMEASURED_FP32 if dtype == "fp32" else UNMEASURED


def memory_lines(on: OnRun) -> SpeedThresholds:
    """The thresholds for copies within this GPU's memory."""
    found = product(on)
    if found is None or found.measured is None:
        return UNKNOWN_MEMORY
    return HBM if found.kind == "HBM" else GDDR


class Share(msgspec.Struct, frozen=True):
    """A measured speed with its limit.

    Attributes:
        value: in the limit's unit.
        limit: what the device can reach at most.
        part: value over limit, raised where the limit is a loose one.
    """

    value: float
    limit: Limit
    part: float

    @property
    def words(self) -> str:
        """For people: "412 of 920 TFLOP/s (45%)"."""
        low, high = (f"{x:.0f}" if x >= 10 else f"{x:.1f}" for x in (self.value, self.limit.value))
        return f"{low} of {high} {self.limit.unit} ({self.value / self.limit.value:.0%})"


def busy(run: SmokeRun) -> bool | None:
    """Whether others used the GPU before the tests; None: unknown, or the CPU."""
    signs = _signs(run.others, run.utilization)
    return None if run.kind == "cpu" else signs


def _signs(others: Maybe[int | None], utilization: Maybe[int | None]) -> bool | None:
    """True where one sign shows that it is in use, False where both are known and show that it is not."""
    values = [(o, idle_at) for o, idle_at in ((others, 0), (utilization, BUSY)) if isinstance(o, int)]
    if any(number > idle_at for number, idle_at in values):
        return True
    unknown = isinstance(others, Unknown) or isinstance(utilization, Unknown)
    return False if values and not unknown else None


def idle(facts: Facts, run: SmokeRun) -> None:
    """Leave the check where the GPU was not idle, or that is unknown: its speed then means nothing.

    For tests across all GPUs, what the driver reported about each of them before counts.

    Raises:
        UnknownFactError: others used the GPU, or it is not known.
    """
    signs: list[tuple[Maybe[int | None], Maybe[int | None]]] = [(run.others, run.utilization)]
    if run.gpu is None:
        signs = [(_number(g.processes), g.utilization) for g in gpus_of(facts)]
    found = [_signs(*one) for one in signs]
    if any(found):
        raise UnknownFactError("other processes used the GPU before the tests, so speeds are not judged")
    for others, utilization in signs:
        known(others)
        known(utilization)
    if not found or None in found:
        raise UnknownFactError("it is unknown whether other processes used the GPU before the tests")


def _number(processes: Maybe[tuple[GpuProcess, ...]]) -> Maybe[int | None]:
    return processes if isinstance(processes, Unknown) else len(processes)


def share(on: OnRun, test: SmokeTest, figure: str) -> Share | None:
    """How much of the limit a figure reached; None where it was not measured.

    Raises:
        UnknownFactError: the GPU was not idle, or no reliable limit is known.
    """
    value = test.figure(figure)
    if value is None:
        return None
    idle(on.facts, on.run)
    ceiling = limit(on.facts, on.run, test, figure)
    if ceiling is None or ceiling.value <= 0:
        raise UnknownFactError(f"no limit is known for {test.name} {test.variant}".strip() + " on this device")
    if not ceiling.sure:
        raise UnknownFactError(f"the limit is too uncertain for a verdict: {ceiling.source}")
    return Share(value, ceiling, value / ceiling.value / (LOOSE if ceiling.loose else 1))
