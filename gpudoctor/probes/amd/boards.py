"""The cards that amdgpu drives: partitions, links, bad pages, clocks held (https://docs.kernel.org/gpu/amdgpu/)."""

from collections.abc import Sequence

from gpudoctor.facts.amd import Board
from gpudoctor.facts.pci import PciDevice
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.amd.sensors import Sensors

PCI = "/sys/bus/pci/devices"
# "0x027f5d43 : 0x00001000 : R": page, size, and R for reserved, P for pending, F for failed.
_PAGE = pattern(r"(?m)^0x[0-9a-f]+ : 0x[0-9a-f]+ : ([RPF])\s*$")


def boards(machine: Machine, cards: Sequence[PciDevice]) -> tuple[Board, ...]:
    """Return the cards of AMD's that amdgpu is bound to.

    Args:
        machine: where to look.
        cards: AMD's devices on the bus.
    """
    return tuple(_board(machine, card) for card in cards if card.role == "gpu" and card.driver == "amdgpu")


def _board(machine: Machine, card: PciDevice) -> Board:
    folder = f"{PCI}/{card.address}"
    sensors = Sensors(machine, folder, asleep=card.runtime_status == "suspended")
    retired, pending = _pages(sensors)
    return Board(
        address=card.address,
        compute_partition=_mode(sensors.text("current_compute_partition")),
        memory_partition=_mode(sensors.text("current_memory_partition")),
        hive=sensors.text("xgmi_hive_info/xgmi_hive_id"),
        pages_retired=retired,
        pages_pending=pending,
        vram=sensors.number("mem_info_vram_total"),
        performance_level=sensors.text("power_dpm_force_performance_level"),
    )


def _mode(text: Maybe[str | None]) -> Maybe[str | None]:
    """A mode's name; "UNKNOWN" is what amdgpu says where it does not know."""
    return Unknown("amdgpu reports UNKNOWN") if text in ("UNKNOWN", "") else text


def _pages(sensors: Sensors) -> tuple[Maybe[int | None], Maybe[int | None]]:
    """How many pages are out of use, and how many could not be taken out: pending ones and those that failed."""
    text = sensors.text("ras/gpu_vram_bad_pages")
    if not isinstance(text, str):
        return text, text
    flags = _PAGE.findall(text)
    return flags.count("R"), len(flags) - flags.count("R")
