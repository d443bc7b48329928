"""Which chip a PCI device id stands for, so that a GPU is known before any driver speaks."""

from functools import cache

import msgspec

from gpudoctor.knowledge.generations import generation_of_code
from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.lazy_regex import pattern

_CODE = pattern(r"(?:GF|GK|GM|GP|GV|TU|GA|AD|GH|GB|GR)\d{2}[0-9A-Bx]?|GT2\d\d|G[89]\d|MCP[78][0-9A]")


class PciIds(KnowledgeTable, frozen=True):
    """The table ``pci_ids.toml``."""

    nvidia: dict[str, str]
    capability: dict[str, str]
    board: dict[str, str]
    amd: dict[str, tuple[str, str]]
    amd_integrated: dict[str, tuple[str, str]]


class NvidiaChip(msgspec.Struct, frozen=True):
    """An NVIDIA chip: "GA102", "Ampere", "8.6"; what is not known is None."""

    code: str
    architecture: str | None
    capability: str | None


class AmdChip(msgspec.Struct, frozen=True):
    """An AMD chip: "Navi 21", "gfx1030"; integrated where it sits in a desktop or laptop processor."""

    code: str
    gfx: str | None
    integrated: bool


@cache
def pci_ids() -> PciIds:
    """Return the table, read once."""
    return load("pci_ids", PciIds)


def nvidia_chip(device_id: str, name: str | None = None) -> NvidiaChip | None:
    """Return the chip of an NVIDIA device id ("2204" or "0x2204"), or None where it is unknown.

    Args:
        device_id: four hexadecimal digits, with or without "0x".
        name: the device's name in an installed pci.ids, for ids newer than this table.
    """
    number = _number(device_id)
    code = next((c for c, ids in pci_ids().nvidia.items() if _holds(ids, number)), None)
    if code is None and name:
        found = _CODE.match(name)
        code = found.group() if found else None
    if code is None:
        return None
    generation = generation_of_code(code)
    return NvidiaChip(code, generation.name if generation else None, capability_of_code(code))


def capability_of_code(code: str) -> str | None:
    """Return the compute capability of a chip code name ("AD107" is "8.9"), or None."""
    table = pci_ids().capability
    longest = max((c for c in table if code.startswith(c)), key=len, default=None)
    return table[longest] if longest else None


def amd_chip(device_id: str) -> AmdChip | None:
    """Return the chip of an AMD device id ("73bf" or "0x73bf"), or None where it is unknown."""
    number = _number(device_id)
    for integrated, table in ((False, pci_ids().amd), (True, pci_ids().amd_integrated)):
        for code, (gfx, ids) in table.items():
            if _holds(ids, number):
                return AmdChip(code, gfx or None, integrated)
    return None


def is_nvswitch(device_id: str) -> bool:
    """Say whether this NVIDIA device id is an NVSwitch bridge."""
    return _holds(pci_ids().board["nvswitch"], _number(device_id))


def needs_fabric(device_id: str) -> bool:
    """Say whether this NVIDIA device id is a module for baseboards with NVSwitch.

    Boards of four such modules have no NVSwitch and need no fabric manager: ask `is_nvswitch` too.
    """
    return _holds(pci_ids().board["fabric"], _number(device_id))


def _number(device_id: str) -> int:
    try:
        return int(device_id, 16)
    except ValueError:
        return -1


@cache
def _ranges(ids: str) -> tuple[tuple[int, int], ...]:
    pairs = (part.partition("-") for part in ids.split())
    return tuple((int(first, 16), int(last or first, 16)) for first, _, last in pairs)


def holds(ids: str, device_id: str) -> bool:
    """Say whether a list of ids and ranges ("1602 1606-160e") contains a device id."""
    return _holds(ids, _number(device_id))


def _holds(ids: str, number: int) -> bool:
    return any(first <= number <= last for first, last in _ranges(ids))
