"""AMD's GPUs as the kernel's compute driver numbers them, with what sysfs says of each."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gpudoctor.facts.gpu import Gpu
from gpudoctor.facts.pci import PciDevice
from gpudoctor.knowledge import rocm
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.amd_sensors import Sensors
from gpudoctor.probes.nodes import TOPOLOGY

PCI = "/sys/bus/pci/devices"
# Heap types of memory banks, uapi/linux/kfd_sysfs.h: the GPU's memory that the CPU can and cannot see.
VISIBLE, HIDDEN = 1, 2
_NVIDIA_ALONE: dict[str, Any] = dict.fromkeys(
    (
        "generation", "capability", "performance_state", "ecc_pending", "ecc_uncorrected_total",
        "remapped_uncorrected", "remap_pending", "remap_failed", "retired_pending", "compute_mode", "mig",
        "mig_pending", "mig_devices", "persistence", "nvlinks", "fabric_state", "fabric_status", "recovery_action",
    )
)  # fmt: skip


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
        if properties is None:
            closed += 1
        elif properties.get("simd_count") or properties.get("gfx_target_version"):
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


def _properties(machine: Machine, path: str) -> dict[str, int] | None:
    text = machine.line(path)
    if text is None:
        return None
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _place(machine: Machine, properties: dict[str, int]) -> str:
    """The PCI address, by the render node where there is one: partitions of one GPU share the location."""
    minor = properties.get("drm_render_minor", 0)
    device = f"/sys/class/drm/renderD{minor}/device"
    if minor and machine.link(device):
        name = machine.real(device).rpartition("/")[2]
        if name.count(":") == 2:
            return name
    place = address(properties.get("location_id", 0), properties.get("domain", 0))
    # AMD's own driver packages write a partition's number into the function; the GPU itself is function 0.
    whole = f"{place[:-1]}0"
    return whole if not machine.exists(f"{PCI}/{place}") and machine.exists(f"{PCI}/{whole}") else place


def _gpu(machine: Machine, index: int, folder: str, properties: dict[str, int], cards: Sequence[PciDevice]) -> Gpu:
    place = _place(machine, properties)
    card = next((c for c in cards if c.address == place), None)
    unique, minor = properties.get("unique_id", 0), properties.get("drm_render_minor", 0)
    absent = Unknown(f"{PCI}/{place} is not shown here")
    sensors = Sensors(machine, f"{PCI}/{place}", asleep=card is not None and card.runtime_status == "suspended")
    gpu = Gpu(
        vendor="amd",
        index=index,
        address=place,
        name=_name(machine, folder, place, card),
        uuid=f"GPU-{unique:016x}" if unique else None,  # as ROCr and HIP spell it
        chip=card.chip if card else absent,
        gfx=rocm.gfx_of_target_version(properties.get("gfx_target_version", 0)) or (card.gfx if card else absent),
        integrated=card.integrated if card else absent,
        status="ok",  # KFD lists only GPUs that amdgpu has initialised
        memory=_memory(machine, folder, properties, sensors),
        link_generation=card.link_generation if card else absent,
        link_width=card.link_width if card else absent,
        link_generation_max=card.link_generation_max if card else absent,
        link_width_max=card.link_width_max if card else absent,
        numa_node=card.numa_node if card else absent,
        render_node=f"/dev/dri/renderD{minor}" if minor else None,
        **_NVIDIA_ALONE,
    )
    return _measured(gpu, sensors)


def _measured(gpu: Gpu, sensors: Sensors) -> Gpu:
    temperature, slowdown = sensors.temperatures()
    return msgspec.structs.replace(
        gpu,
        memory_used=sensors.number("mem_info_vram_used"),
        utilisation=sensors.number("gpu_busy_percent"),
        temperature=temperature,
        temperature_slowdown=slowdown,
        power=sensors.watts("power1_average", "power1_input"),
        power_limit=sensors.watts("power1_cap"),
        power_default=sensors.watts("power1_cap_default"),
        sm_clock=sensors.clock(),
        sm_clock_max=sensors.clock_max(),
        pcie_replays=sensors.number("pcie_replay_count"),
        ecc=sensors.ecc(),
        ecc_uncorrected=sensors.uncorrected(),
        vbios=sensors.text("vbios_version"),
        serial=sensors.text("serial_number"),
    )


def _name(machine: Machine, folder: str, place: str, card: PciDevice | None) -> Maybe[str]:
    """The board's own name (Instinct has one), else pci.ids', else the node's, which is often "ip discovery"."""
    own = machine.line(f"{PCI}/{place}/product_name")
    if own:
        return own
    if card and isinstance(card.name, str):
        return card.name
    return machine.line(f"{folder}/name") or Unknown("neither sysfs nor pci.ids names it")


def _memory(machine: Machine, folder: str, properties: dict[str, int], sensors: Sensors) -> Maybe[int | None]:
    """The GPU's own memory; of a partition only its share, which KFD's banks say and amdgpu's total does not."""
    banks = 0
    for bank in machine.names(f"{folder}/mem_banks"):
        values = _properties(machine, f"{folder}/mem_banks/{bank}/properties") or {}
        if values.get("heap_type") in (VISIBLE, HIDDEN):
            banks += values.get("size_in_bytes", 0)
    return banks or properties.get("local_mem_size") or sensors.number("mem_info_vram_total")
