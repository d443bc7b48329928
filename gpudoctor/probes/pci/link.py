"""A device's PCIe link as sysfs shows it."""

import msgspec

from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import whole

# GT/s as Linux writes them (drivers/pci/probe.c, pci_speed_string) and the PCIe generation.
GENERATIONS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "8": 3, "16.0": 4, "16": 4, "32.0": 5, "32": 5, "64.0": 6, "64": 6}
# Wider links do not exist; all bits set (63 in the status register, 255 in the attribute) mean that nobody answered.
WIDEST = 32
BRIDGE = "0x0604"


class PciLink(msgspec.Struct, frozen=True):
    """Generation and lanes now, and the most that card and slot do together; None: no PCIe link."""

    generation: Maybe[int | None]
    width: Maybe[int | None]
    generation_max: Maybe[int | None]
    width_max: Maybe[int | None]


def link(machine: Machine, folder: str, vendor: str, *, asleep: bool) -> PciLink:
    """Return the link of the device in `folder` of sysfs.

    Args:
        machine: where to look.
        folder: the device's, under /sys/bus/pci/devices.
        vendor: the device's vendor id.
        asleep: it is suspended; since Linux 6.18 reading its link would wake it, earlier it reads all ones.
    """
    if asleep:
        why = Unknown("the device is powered down, and reading its link would wake it")
        return PciLink(why, why, why, why)
    if not machine.exists(f"{folder}/max_link_speed"):
        return PciLink(None, None, None, None)
    end = card(machine, machine.real(folder), vendor)
    own = _read(machine, end, "max")
    if own[1] is None:  # integrated into the root complex: there is a capability and no link
        return PciLink(None, None, None, None)
    now, slot = _read(machine, end, "current"), _read(machine, end.rpartition("/")[0], "max")
    return PciLink(*now, _least(own[0], slot[0]), _least(own[1], slot[1]))


def card(machine: Machine, folder: str, vendor: str) -> str:
    """Return the folder of the function that faces the slot.

    AMD's cards since Navi 10 and Vega 20 carry a PCIe switch before the GPU.

    The link between that switch and the GPU is inside the chip and always at full speed.
    """
    if vendor != "1002":
        return folder
    while True:
        above = folder.rpartition("/")[0]
        bridge = (machine.line(f"{above}/class") or "").startswith(BRIDGE)
        if not bridge or machine.line(f"{above}/vendor") != "0x1002":
            return folder
        folder = above


def _read(machine: Machine, folder: str, which: str) -> tuple[Maybe[int | None], Maybe[int | None]]:
    speed = machine.line(f"{folder}/{which}_link_speed")
    width = machine.line(f"{folder}/{which}_link_width")
    if speed is None or width is None:
        why = Unknown(f"{folder}/{which}_link_speed cannot be read")
        return why, why
    generation = GENERATIONS.get(speed.split(" ")[0])
    lanes = whole(width)
    if lanes == 0:
        return None, None
    return (
        Unknown(f"{which}_link_speed contains {speed[:40]!r}") if generation is None else generation,
        Unknown(f"{which}_link_width contains {width[:40]!r}") if lanes is None or lanes > WIDEST else lanes,
    )


def _least(card: Maybe[int | None], slot: Maybe[int | None]) -> Maybe[int | None]:
    """The smaller one; a slot that says nothing (guests often see none) does not count."""
    if isinstance(card, int) and isinstance(slot, int):
        return min(card, slot)
    return card
