"""The names that GPUs are sold under, by PCI ids: for machines where no driver and no pci.ids names them."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class NameRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name a line for each vendor; one text is read many times faster than some thousand entries."""

    nvidia: str
    amd: str
    intel: str


class GpuNames(KnowledgeTable, frozen=True):
    """The table ``gpu_names.toml``."""

    names: NameRows


@cache
def gpu_names() -> GpuNames:
    """Return the table, read once."""
    return load("gpu_names", GpuNames)


def exact_name(vendor: str, device: str, variant: str | None) -> str | None:
    """Return the name of this variant of a device alone; None where the table has none, or lists no variants.

    Args:
        vendor: nvidia, amd or intel.
        device: the PCI device id, "744c".
        variant: AMD's revision ("c8"), NVIDIA's subsystem ("10de:1463").
    """
    rows = _rows(vendor, device)
    return next((name for keys, name in rows if variant is not None and variant in keys), None)


def name_of(vendor: str, device: str, variant: str | None = None) -> str | None:
    """Return what a GPU is sold as, "NVIDIA GeForce RTX 4090"; None where the table does not tell.

    Args:
        vendor: nvidia, amd or intel.
        device: the PCI device id, "744c".
        variant: AMD's revision ("c8"), NVIDIA's subsystem ("10de:1463"); None: unknown.
    """
    usual = next((name for keys, name in _rows(vendor, device) if not keys), None)
    return exact_name(vendor, device, variant) or usual


def _rows(vendor: str, device: str) -> list[tuple[list[str], str]]:
    """The variants, none for all others, and the name, which begins with the vendor's."""
    text: str = getattr(gpu_names().names, vendor)
    found = re.findall(rf"^{re.escape(device)} (?:([0-9a-f:,]+) )?(.+)$", text, re.M)
    return [(keys.split(",") if keys else [], name) for keys, name in found]
