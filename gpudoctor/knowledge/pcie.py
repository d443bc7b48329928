"""Rates of PCI Express links, in theory and as copies reach them."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class PcieGeneration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A generation: GT/s, GB/s of one lane in theory, usual and alarming GB/s of pinned copies over 16 lanes.

    sure: the two rates of copies were measured, not estimated.
    """

    generation: int
    gigatransfers: float
    lane: float
    sure: bool
    low: float | None = None


class LinkLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From how many errors on NVIDIA's health watches call a PCIe or NVLink link faulty."""

    replays_a_minute: int
    nvlink_errors: int
    nvlink_crc_a_second: int


class Pcie(KnowledgeTable, frozen=True):
    """The table ``pcie.toml``."""

    limits: LinkLimits
    generation: tuple[PcieGeneration, ...]


@cache
def _pcie() -> Pcie:
    return load("pcie", Pcie)


@cache
def generations() -> dict[int, PcieGeneration]:
    """Return the generations by number."""
    return {g.generation: g for g in _pcie().generation}


def link_limits() -> LinkLimits:
    """Return the errors that a healthy PCIe or NVLink link stays below."""
    return _pcie().limits


def bandwidth(generation: int, width: int) -> float | None:
    """Return the theoretical GB/s (1e9 bytes per second) in one direction, or None where unknown."""
    found = generations().get(generation)
    return found.lane * width if found else None


def low_bandwidth(generation: int, width: int) -> float | None:
    """Return the GB/s under which large copies from pinned memory are too slow, or None where unknown."""
    found = generations().get(generation)
    return found.low * width / 16 if found and found.low is not None and found.sure else None
