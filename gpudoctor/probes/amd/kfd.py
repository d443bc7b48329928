"""AMD's GPUs as the kernel's compute driver numbers them, with what sysfs says of each."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gpudoctor.facts.gpu import Gpu
from gpudoctor.facts.pci import PciDevice
from gpudoctor.knowledge import rocm
from gpudoctor.knowledge.pci_ids import amd_chip
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.numbers import whole
from gpudoctor.probes.amd.sensors import Sensors
from gpudoctor.probes.device_nodes import TOPOLOGY
from gpudoctor.probes.pci.names import sold_as
from gpudoctor.targets import AMD

PCI = "/sys/bus/pci/devices"
# Heap types of memory banks, uapi/linux/kfd_sysfs.h: the GPU's memory that the CPU can and cannot see.
VISIBLE, HIDDEN = 1, 2
_NVIDIA_ALONE: dict[str, Any] = dict.fromkeys(
    (
        "generation", "capability", "performance_state", "ecc_pending", "ecc_uncorrected_total",
        "remapped_corrected", "remapped_uncorrected", "remap_pending", "remap_failed", "retired_pending",
        "temperature_operating_max", "compute_mode", "mig",
        "mig_pending", "mig_devices", "persistence", "nvlinks", "fabric_state", "fabric_status", "recovery_action",
    )
)  # fmt: skip

Properties = dict[str, Maybe[int]]


def gpus(machine: Machine, cards: Sequence[PciDevice]) -> Maybe[tuple[Gpu, ...]]:
    """Return the GPUs of KFD's topology in its order, which HIP keeps; empty where it shows none.

    Args:
        machine: where to look.
        cards: AMD's devices on the bus.
    """
    found: list[Gpu] = []
    closed = 0
    for node in sorted((n for n in machine.names(TOPOLOGY) if n.isdigit()), key=int):
        folder = f"{TOPOLOGY}/{node}"
        properties = _properties(machine, f"{folder}/properties")
        if not properties:
            closed += 1
        elif _computes(properties):
            found.append(_gpu(machine, len(found), folder, properties, cards))
    if closed and not found:
        # The kernel hides GPUs that the device control group does not grant (kfd_devcgroup_check_permission).
        return Unknown(
            f"{TOPOLOGY}/*/properties of {closed} nodes cannot be read: this container was not given the GPU"
        )
    return tuple(found)


def address(location: int, domain: int) -> str:
    """Return the PCI address of a location_id: bus, device and function; bits above are a partition's number."""
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def _properties(machine: Machine, path: str) -> Properties:
    """The numbers by their names; empty where the file cannot be read."""
    rows = [line.split() for line in (machine.line(path) or "").splitlines()]
    numbers = {row[0]: whole(" ".join(row[1:])) for row in rows if row}
    return {name: Unknown(f"{path}: {name} is not a number") if n is None else n for name, n in numbers.items()}


def _computes(properties: Properties) -> bool:
    """Whether a node is a GPU: it has SIMD units, or a target; where nobody can read whether, it has no CPU cores."""
    units, target = properties.get("simd_count", 0), properties.get("gfx_target_version", 0)
    if known_or(units, 0) or known_or(target, 0):
        return True
    unread = isinstance(units, Unknown) or isinstance(target, Unknown) or "simd_count" not in properties
    return unread and properties.get("cpu_cores_count", 1) == 0


def _place(machine: Machine, properties: Properties) -> Maybe[str]:
    """The PCI address, by the render node where there is one: partitions of one GPU share the location."""
    minor = known_or(properties.get("drm_render_minor", 0), 0)
    device = f"/sys/class/drm/renderD{minor}/device"
    if minor and machine.link(device):
        name = machine.real(device).rpartition("/")[2]
        if name.count(":") == 2:
            return name
    location, domain = properties.get("location_id", 0), properties.get("domain", 0)
    if isinstance(location, Unknown):
        return location
    if isinstance(domain, Unknown):
        return domain
    place = address(location, domain)
    # AMD's own driver packages write a partition's number into the function; the GPU itself is function 0.
    whole = f"{place[:-1]}0"
    return whole if not machine.exists(f"{PCI}/{place}") and machine.exists(f"{PCI}/{whole}") else place


def _gpu(machine: Machine, index: int, folder: str, properties: Properties, cards: Sequence[PciDevice]) -> Gpu:
    found = _place(machine, properties)
    place = known_or(found, "unknown")
    card = next((c for c in cards if c.address == place), None)
    unique, minor = properties.get("unique_id", 0), properties.get("drm_render_minor", 0)
    absent = found if isinstance(found, Unknown) else Unknown(f"{PCI}/{place} is not shown here")
    target = rocm.gfx_of_target_version(known_or(properties.get("gfx_target_version", 0), 0))
    sensors = Sensors(machine, f"{PCI}/{place}", asleep=card is not None and card.runtime_status == "suspended")
    gpu = Gpu(
        vendor="amd",
        index=index,
        address=found,
        name=_name(machine, folder, place, card, properties),
        uuid=_uuid(unique),
        chip=card.chip if card else absent,
        gfx=target or (card.gfx if card else absent),
        integrated=card.integrated if card else absent,
        status="ok",  # KFD lists only GPUs that amdgpu has initialised
        memory=_memory(machine, folder, properties, sensors),
        link_generation=card.link_generation if card else absent,
        link_width=card.link_width if card else absent,
        link_generation_max=card.link_generation_max if card else absent,
        link_width_max=card.link_width_max if card else absent,
        numa_node=card.numa_node if card else absent,
        wave_area=properties.get("cwsr_size"),
        render_node=minor if isinstance(minor, Unknown) else f"/dev/dri/renderD{minor}" if minor else None,
        **_NVIDIA_ALONE,
    )
    return _measured(gpu, sensors)


def _uuid(unique: Maybe[int]) -> Maybe[str | None]:
    """As ROCr and HIP spell it."""
    return unique if isinstance(unique, Unknown) else f"GPU-{unique:016x}" if unique else None


def _measured(gpu: Gpu, sensors: Sensors) -> Gpu:
    temperature, slowdown = sensors.temperatures()
    return msgspec.structs.replace(
        gpu,
        memory_used=sensors.number("mem_info_vram_used"),
        utilization=sensors.number("gpu_busy_percent"),
        temperature=temperature,
        temperature_slowdown=slowdown,
        power=sensors.watts("power1_average", "power1_input"),
        power_limit=sensors.watts("power1_cap"),
        power_default=sensors.watts("power1_cap_default"),
        power_max=sensors.watts("power1_cap_max"),
        sm_clock=sensors.clock(),
        sm_clock_max=sensors.clock_max(),
        pcie_replays=sensors.number("pcie_replay_count"),
        ecc=sensors.ecc(),
        ecc_uncorrected=sensors.uncorrected(),
        vbios=sensors.text("vbios_version"),
        serial=sensors.text("serial_number"),
    )


def _name(machine: Machine, folder: str, place: str, card: PciDevice | None, properties: Properties) -> Maybe[str]:
    """The board's own name (Instinct has one), else its product's, the chip's, or the node's: often "ip discovery"."""
    own = machine.line(f"{PCI}/{place}/product_name")
    if own:
        return own
    if card and isinstance(card.name, str):
        return card.name
    # The node names the device also where sysfs shows none on the bus.
    device = card.device if card else f"{known_or(properties.get('device_id', 0), 0):04x}"
    chip = amd_chip(device)
    product = sold_as(AMD, device, None, chip.code if chip else None)
    return product or machine.line(f"{folder}/name") or Unknown("neither sysfs nor pci.ids names it")


def _memory(machine: Machine, folder: str, properties: Properties, sensors: Sensors) -> Maybe[int | None]:
    """The GPU's own memory; of a partition only its share, which KFD's banks say and amdgpu's total does not."""
    banks = 0
    for bank in machine.names(f"{folder}/mem_banks"):
        path = f"{folder}/mem_banks/{bank}/properties"
        values = _properties(machine, path)
        heap, size = (values.get(name, Unknown(f"{path} has no {name}")) for name in ("heap_type", "size_in_bytes"))
        if isinstance(heap, Unknown):
            return heap
        if heap in (VISIBLE, HIDDEN):
            if isinstance(size, Unknown):
                return size
            banks += size
    if banks >> 63:
        return Unknown(f"{folder}/mem_banks report {banks} bytes")
    return banks or properties.get("local_mem_size") or sensors.number("mem_info_vram_total")
