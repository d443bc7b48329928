"""What lies between a GPU and memory: bridges, IOMMU, ACS, near processors, and the link's corrected errors.

The kernel keeps all of it but ACS in memory, so that reading wakes no device.
"""

import struct

import msgspec

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.cpu_list import processors
from gpudoctor.parsers.numbers import whole

_ADDRESS = pattern(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# Errors that packets had on the wire (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats); "NonFatalErr" is
# mostly a question about something that is not there, and no fault of the link.
_WIRE = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")
# include/uapi/linux/pci_regs.h: extended capabilities begin at 256; ACS is number 13, its control register 6 bytes
# in, and bit 2 of that is P2P Request Redirect.
_COUNTED = (1 << 62) - 1  # that two ends together stay within the 64 bits in which they are told
_EXTENDED, _ACS, _CONTROL, _REDIRECT, _SIZE = 0x100, 0x000D, 6, 0x04, 4096


class Path(msgspec.Struct, frozen=True):
    """What `PciDevice` says of it, under the same names."""

    ports: Maybe[tuple[str, ...]]
    iommu: Maybe[str | None]
    acs: Maybe[bool | None]
    local_cpus: Maybe[str | None]
    link_errors: Maybe[tuple[tuple[str, int], ...] | None]


def path(machine: Machine, folder: str, *, acs: bool) -> Path:
    """Look at the way from a device up to the root complex.

    Args:
        machine: where to look.
        folder: the device's, under /sys/bus/pci/devices.
        acs: whether to read ACS, for which the configuration space of a bridge is read: that wakes one that sleeps.
    """
    real = machine.real(folder)
    ports = tuple(part for part in real.split("/")[:-1] if _ADDRESS.fullmatch(part))
    above = real.rpartition("/")[0]
    return Path(
        ports=ports,
        iommu=_iommu(machine, folder),
        acs=(_acs(machine, above) if ports else None) if acs else Unknown("not read: there is only one GPU"),
        local_cpus=_local_cpus(machine, folder),
        link_errors=_errors(machine, real, above if ports else None),
    )


def _local_cpus(machine: Machine, folder: str) -> Maybe[str | None]:
    text = machine.line(f"{folder}/local_cpulist")
    return (text or None) if not text or processors(text) else Unknown(f"{folder}/local_cpulist contains {text[:40]!r}")


def _iommu(machine: Machine, folder: str) -> Maybe[str | None]:
    if not machine.exists(f"{folder}/iommu_group"):
        return None
    kind = machine.line(f"{folder}/iommu_group/type")
    return kind or Unknown(f"{folder}/iommu_group/type cannot be read")


def _errors(machine: Machine, *ends: str | None) -> Maybe[tuple[tuple[str, int], ...] | None]:
    """The counters of both ends of the link together."""
    texts = [machine.line(f"{end}/aer_dev_correctable") for end in ends if end]
    if not any(texts):
        return None
    rows = [line.split() for text in texts if text for line in text.splitlines()]
    totals = dict.fromkeys(_WIRE, 0)
    for name, *count in (row for row in rows if row and row[0] in _WIRE):
        number = whole(" ".join(count))
        if number is None or number > _COUNTED:
            return Unknown(f"aer_dev_correctable contains {' '.join(count)[:40]!r} for {name}")
        totals[name] += number
    return tuple((kind, number) for kind, number in totals.items() if number)


def _acs(machine: Machine, port: str) -> Maybe[bool | None]:
    try:
        data = machine.data(f"{port}/config", _SIZE)
    except OSError as error:
        return Unknown(f"{port}/config: {error.strerror}")
    if len(data) < _SIZE:
        return Unknown("the configuration space of PCI bridges can be read by root only")
    return redirects(data)


def redirects(config: bytes) -> bool | None:
    """Whether a bridge's configuration space says that requests between its peers go up; None: it has no ACS."""
    at, steps = _EXTENDED, 0
    while _EXTENDED <= at <= len(config) - 8 and steps < 64:
        (head,) = struct.unpack_from("<I", config, at)
        if head in (0, 0xFFFFFFFF):
            return None
        if head & 0xFFFF == _ACS:
            (control,) = struct.unpack_from("<H", config, at + _CONTROL)
            return bool(control & _REDIRECT)
        at, steps = head >> 20 & 0xFFC, steps + 1
    return None
