"""What a device can reach at most in a smoke test: the limit that a measured figure is compared with."""

import math
from collections.abc import Callable

import msgspec

from gpudoctor.facts import Facts, Gpu, SmokeRun, SmokeTest
from gpudoctor.knowledge import gpu_peaks, pcie
from gpudoctor.knowledge.gpu_peaks import Product
from gpudoctor.maybe import known_or, phrase
from gpudoctor.queries.gpus import has_slot
from gpudoctor.queries.smoke import OnRun, dtype_of, noted
from gpudoctor.targets import gpus_of, switches_of

# Libraries split a matmul into tiles of 128 x 256 elements, one per multiprocessor at a time; the last wave of tiles
# seldom fills the GPU. With fewer than two waves that matters more than the GPU.
# https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
TILE = 128 * 256
FEWEST_WAVES = 2.0
# GDDR keeps its ECC codes inline, in a sixteenth of the memory; HBM has separate space for them.
# https://docs.nvidia.com/datacenter/tesla/ (T4: 15 of 16 GB with ECC)
IN_LINE_ECC = 0.94
# Shorter copies and sums between GPUs show how they begin: on eight H200, sums of 64 MiB reach 0.72 of what 16 GiB do,
# of 256 MiB 0.9. https://github.com/stas00/ml-engineering/tree/master/network
FULL_LENGTH = 256 << 20  # bytes
FEWEST_LANES = 8  # over fewer the link may be a tunnel (Thunderbolt, USB4), which carries less than its nominal rate


class Limit(msgspec.Struct, frozen=True):
    """The maximum that a device can reach.

    Attributes:
        value: the number.
        unit: of it: TFLOP/s, GB/s.
        source: where it comes from, a sentence.
        sure: a verdict may rest on it.
        loose: the clock during the test is not known, so a verdict has to leave more room.
    """

    value: float
    unit: str
    source: str
    sure: bool = True
    loose: bool = False


def limit(facts: Facts, run: SmokeRun, test: SmokeTest, figure: str) -> Limit | None:
    """The limit of a figure, or None where it has none or it is unknown.

    Args:
        facts: of the machine.
        run: the backend on its device.
        test: one of the run's.
        figure: the name of one of the test's figures.
    """
    make = _LIMITS.get((test.name, figure))
    return None if make is None or run.kind == "cpu" else make(OnRun(facts, run), test)


def sheet(facts: Facts, run: SmokeRun, test: SmokeTest, figure: str) -> Limit | None:
    """The data sheet's value instead, at the vendor's boost clock; None where unknown."""
    if test.name not in ("matmul", "stress"):
        return limit(facts, run, test, figure)
    return None if figure != "rate" or run.kind == "cpu" else _sheet(OnRun(facts, run), test)


# -- matmul --------------------------------------------------------------------------------------------------


def _rate(on: OnRun, test: SmokeTest) -> Limit | None:
    """At the observed clock; where it is unknown, the data sheet's."""
    if on.run.backend == "driver":
        return None  # its kernels are simple ones, which only prove that the GPU computes
    return _at_clock(on, test) or _sheet(on, test)


def _at_clock(on: OnRun, test: SmokeTest) -> Limit | None:
    processors, clock = on.run.processors, known_or(test.during.sm_clock, None)
    per_clock = _per_clock(on, dtype_of(test))
    if not processors or not clock or not per_clock:
        return None
    fill, note = _filled(processors, test)
    value = processors * clock * per_clock * fill * 1e-6
    source = (
        f"{processors} multiprocessors x {clock:.0f} MHz during the test x {per_clock:g} operations per clock in "
        f"{dtype_of(test)}{note}."
    )
    return Limit(value, "TFLOP/s", source)


def target(gpu: Gpu) -> str | None:
    """The GPU's architecture: "9.0", "gfx942"."""
    return known_or(gpu.gfx, None) if gpu.vendor == "amd" else known_or(gpu.capability, None)


def _per_clock(on: OnRun, dtype: str) -> float | None:
    kind = target(on.gpu) if on.gpu else None
    return gpu_peaks.per_clock(kind, _names(on)[0], dtype) if kind else None


def _names(on: OnRun) -> tuple[str, ...]:
    """What the driver and the framework call the device; the driver's name comes first."""
    driver_name = known_or(on.gpu.name, None) if on.gpu else None
    return tuple(name for name in (driver_name, on.run.name) if name) or ("",)


def waves(processors: int, test: SmokeTest) -> float | None:
    """How often the tiles of a matmul fill all multiprocessors; None where its size is not reported."""
    size = noted(test, "size")
    return size * size / TILE / processors if size and 0 < size < 1e6 else None


def _filled(processors: int, test: SmokeTest) -> tuple[float, str]:
    """The part of the multiprocessors that has work, over the whole matmul; and the text for it."""
    found = waves(processors, test)
    if found is None or found <= 0:
        return 1.0, ""
    part = found / math.ceil(found)
    return part, f", of which {part:.0%} have work at this size" if part < 0.995 else ""


def _sheet(on: OnRun, test: SmokeTest) -> Limit | None:
    found = product(on)
    value = found.of(dtype_of(test)) if found else None
    if found is None or not value or on.run.backend == "driver":
        return None
    part = _part_of(found, on.run)
    if part is None:
        return None
    share = phrase(", {} of {} multiprocessors", on.run.processors, found.processors) if part < 1 else ""
    source = f"{found.names[0]} data sheet: {value:g} TFLOP/s in {dtype_of(test)}{share}."
    return Limit(value * part, "TFLOP/s", source, found.sure, loose=True)


def product(on: OnRun) -> Product | None:
    """The GPU's entry in the data sheets."""
    memory = known_or(on.gpu.memory, None) if on.gpu else None
    vendor = on.gpu.vendor if on.gpu else "amd" if on.run.kind == "rocm" else "nvidia"
    return next(filter(None, (gpu_peaks.product(vendor, name, memory) for name in _names(on))), None)


def _part_of(found: Product, run: SmokeRun) -> float | None:
    """The part of the GPU's multiprocessors that the backend has: less for a MIG slice; None where unknown."""
    if run.processors and found.processors:
        return min(1.0, run.processors / found.processors)
    return None if run.mig else 1.0


# -- memory and links ----------------------------------------------------------------------------------------


def _memory(on: OnRun, _: SmokeTest) -> Limit | None:
    """The data sheet's bandwidth; the share of a slice is unknown."""
    found = product(on)
    if found is None or on.run.mig or on.gpu is None:
        return None
    value = gpu_peaks.bandwidth(found, known_or(on.gpu.memory, None))
    if value is None:
        return None
    ecc = found.kind == "GDDR" and on.gpu.ecc is True
    source = f"{found.names[0]} data sheet: {value:g} GB/s{', less a sixteenth for ECC' if ecc else ''}."
    return Limit(value * (IN_LINE_ECC if ecc else 1), "GB/s", source, found.sure)


def _link(on: OnRun, test: SmokeTest) -> Limit | None:
    """PCIe as it was during the test; a slice shares it, and on a chip-to-chip link nothing goes over it."""
    generation, width = known_or(test.during.link_generation, None), known_or(test.during.link_width, None)
    if on.gpu is None or on.run.mig or not generation or not width or not has_slot(on.facts, on.gpu):
        return None
    value = pcie.bandwidth(generation, width)
    if value is None:
        return None
    measured = pcie.low_bandwidth(generation, width) is not None  # on NVIDIA's GPUs
    source = f"PCIe generation {generation} x{width} during the test: {value:.1f} GB/s in each direction."
    sure = measured and width >= FEWEST_LANES and on.run.kind == "cuda"
    return Limit(value, "GB/s", source, sure)


def _nvlinks(on: OnRun, test: SmokeTest) -> Limit | None:
    """All NVLinks of a GPU in one direction, where switches give each pair of GPUs all of them."""
    gpus = gpus_of(on.facts, "nvidia")
    up = {sum(g.nvlinks) for g in gpus if isinstance(g.nvlinks, tuple)}
    capabilities = {known_or(g.capability, None) for g in gpus}
    if on.run.mig or len(up) != 1 or len(capabilities) != 1 or not switched(on.facts):
        return None
    each = gpu_peaks.nvlink(capabilities.pop() or "")
    links = up.pop()
    if not each or not links:
        return None
    moved = noted(test, "size") or noted(test, "bytes")
    source = f"{links} NVLinks of {each:g} GB/s in each direction, through switches."
    return Limit(links * each, "GB/s", source, moved is None or moved >= FULL_LENGTH)


def switched(facts: Facts) -> bool:
    """Whether NVSwitches join the GPUs: on the bus, or by a fabric that is up."""
    return bool(switches_of(facts)) or any(g.fabric_state == "completed" for g in gpus_of(facts, "nvidia"))


_LIMITS: dict[tuple[str, str], Callable[[OnRun, SmokeTest], Limit | None]] = {
    ("matmul", "rate"): _rate,
    ("stress", "rate"): _rate,
    **{("bandwidth", name): _memory for name in ("copy", "triad", "read")},
    ("fused", "rate"): _memory,
    **{("transfer", name): _link for name in ("h2d pinned", "d2h pinned")},
    ("peer", "rate"): _nvlinks,
    ("allreduce", "bus rate"): _nvlinks,
}
