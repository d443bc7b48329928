"""What GPUs can compute and move at most, per clock cycle and by product."""

import re
from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load

DTYPES = ("fp32", "tf32", "fp16", "bf16", "fp8")
# NVML gives total memory a little less than the data sheet's GB, and GiB where that says GB.
_SAME_SIZE = 0.15


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number for each data type; None: it computes no such products."""

    fp32: float | None = None
    tf32: float | None = None
    fp16: float | None = None
    bf16: float | None = None
    fp8: float | None = None

    def of(self, dtype: str) -> float | None:
        """The number of a data type."""
        return getattr(self, dtype) if dtype in DTYPES else None


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operations per clock cycle and processor of a compute capability ("9.0") or gfx target ("gfx942")."""

    target: str
    rate: Rates
    source: str
    geforce: Rates | None = None
    measured: tuple[str, ...] = ()


class Exempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Products that differ from the rest of their target."""

    target: str
    name: str  # a pattern
    source: str
    why: str
    rate: Rates = Rates()


class Clock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rates per clock cycle."""

    processor: tuple[Processor, ...]
    exception: tuple[Exempt, ...]


class NvLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """GB/s of one link in one direction, and how many a module for boards has."""

    target: str
    link: float
    count: int
    source: str


class Links(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links between GPUs."""

    nvlink: tuple[NvLink, ...]


class Product(Rates, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A product by its data sheet; the numbers of the data types are dense TFLOP/s.

    memory: GB of each size; bandwidth: GB/s of each, or one for all. processors, clock (MHz): of the matrix rates.
    measured: GB/s that copies within the memory have reached. sure: neither derived nor disputed.
    """

    names: tuple[str, ...]
    memory: tuple[float, ...]
    bandwidth: tuple[float, ...]
    kind: Literal["HBM", "GDDR", "LPDDR"]
    sources: tuple[str, ...]
    processors: int | None = None
    clock: float | None = None
    measured: float | None = None
    sure: bool = True
    note: str = ""


class Products(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Products by vendor."""

    nvidia: tuple[Product, ...]
    amd: tuple[Product, ...]


class Peaks(KnowledgeTable, frozen=True):
    """The table ``gpu_peaks.toml``."""

    clock: Clock
    links: Links
    products: Products


@cache
def peaks() -> Peaks:
    """Return the table."""
    return load("gpu_peaks", Peaks)


def per_clock(target: str, name: str, dtype: str) -> float | None:
    """Return the operations per clock cycle and processor, or None where they are unknown.

    Args:
        target: compute capability or gfx target.
        name: the product's, which decides where a vendor sells a chip at half its rate.
        dtype: the data type.
    """
    clock = peaks().clock
    other = next((e for e in clock.exception if e.target == target and re.search(e.name, name)), None)
    if other is not None:
        return other.rate.of(dtype)
    found = next((p for p in clock.processor if p.target == target), None)
    if found is None:
        return None
    return (found.geforce if found.geforce and "GeForce" in name else found.rate).of(dtype)


def is_measured(target: str, dtype: str) -> bool:
    """Whether somebody has published what large products of this type reach on this kind of processor."""
    return any(p.target == target and dtype in p.measured for p in peaks().clock.processor)


def product(vendor: str, name: str, memory: int | None = None) -> Product | None:
    """Return the product of exactly this name and size, or None.

    Args:
        vendor: nvidia or amd.
        name: as the driver or the framework calls it.
        memory: bytes; products of one name differ by it. None: unknown.
    """
    products = peaks().products
    bare = name.removeprefix("NVIDIA ").strip()
    if vendor == "nvidia":
        named = [p for p in products.nvidia if bare in p.names]
    else:
        named = [p for p in products.amd if re.search(rf"\b{re.escape(p.names[0])}\b", name)]
    fitting = [p for p in named if memory is None or _size(p, memory) is not None]
    return max(fitting, key=lambda p: len(p.names[0]), default=None)


def bandwidth(found: Product, memory: int | None) -> float | None:
    """Return the GB/s of a product's memory, or None where its size does not tell which."""
    if len(found.bandwidth) == 1:
        return found.bandwidth[0]
    place = None if memory is None else _size(found, memory)
    return None if place is None else found.bandwidth[place]


def _size(found: Product, memory: int) -> int | None:
    """Which of a product's sizes this is."""
    near = [(abs(memory / (size * 2**30) - 1), place) for place, size in enumerate(found.memory)]
    apart, place = min(near)
    return place if apart <= _SAME_SIZE else None


def nvlinks(capability: str) -> int | None:
    """Return how many NVLinks a module for boards has, or None where unknown; cards have fewer."""
    return next((n.count for n in peaks().links.nvlink if n.target == capability), None)


def nvlink(capability: str) -> float | None:
    """Return the GB/s of one NVLink in one direction, or None where unknown."""
    return next((n.link for n in peaks().links.nvlink if n.target == capability), None)
