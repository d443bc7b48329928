"""The devices on the PCI bus that matter for GPU computing, from sysfs alone, so that none is woken."""

import msgspec

from gpudoctor.facts.host import Host
from gpudoctor.facts.pci import PciDevice
from gpudoctor.knowledge.pci_ids import amd_chip, is_nvswitch, nvidia_chip
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes import pci_link, pci_names, pci_path

DEVICES = "/sys/bus/pci/devices"
NVIDIA, AMD, INTEL, MELLANOX = "10de", "1002", "8086", "15b3"
# resource flags, include/linux/ioport.h: the register is 64 bits wide; the address was never assigned.
MEM_64, UNSET = 0x00100000, 0x20000000


def probe(machine: Machine, host: Host) -> Maybe[tuple[PciDevice, ...]]:
    """Return the devices that matter, by address: empty where there are none, as on most WSL machines."""
    if not machine.exists("/sys/bus"):
        return Unknown("/sys is not mounted")
    chosen = [(address, *found) for address in machine.names(DEVICES) if (found := _relevant(machine, address))]
    if not chosen and host.wsl is None and machine.exists("/sys/bus/pci") and not machine.exists(DEVICES):
        return Unknown(f"{DEVICES} is hidden here")
    names = pci_names.Names(machine)
    devices = tuple(_device(machine, names, *one) for one in chosen)
    return tuple(_with_path(machine, device, devices) for device in devices)


def _with_path(machine: Machine, device: PciDevice, everything: tuple[PciDevice, ...]) -> PciDevice:
    """A GPU with its way to the memory; ACS matters between peers alone."""
    if device.role != "gpu" or device.vendor not in (NVIDIA, AMD):
        return device
    peers = [d for d in everything if d.role == "gpu" and d.vendor == device.vendor]
    acs = len(peers) > 1 and machine.ids()[0] == 0
    way = pci_path.path(machine, f"{DEVICES}/{device.address}", acs=acs)
    if not acs and len(peers) > 1:
        way = way._replace(acs=Unknown("the configuration space of PCI bridges can be read by root alone"))
    return msgspec.structs.replace(device, **way._asdict())


def _relevant(machine: Machine, address: str) -> tuple[str, str, str, str] | None:
    """Vendor, device, class and role of a device that matters; two small files are read for each of the others."""
    vendor = _hex(machine, address, "vendor")
    code = _hex(machine, address, "class")
    if not vendor or not code or not code.startswith(("03", "12", "068", "02")):
        return None
    device = _hex(machine, address, "device") or ""
    role = _role(vendor, device, code)
    return (vendor, device, code, role) if role else None


def _role(vendor: str, device: str, code: str) -> str | None:
    if code.startswith("03"):
        return "gpu"
    if code.startswith("12"):
        # Other vendors' accelerators (NPUs) run none of the frameworks that are looked at.
        return "gpu" if vendor in (NVIDIA, AMD) else "accelerator"
    if code.startswith("0680") and vendor == NVIDIA and is_nvswitch(device):
        return "switch"
    return "network" if code.startswith(("0200", "0207")) and vendor == MELLANOX else None


def _hex(machine: Machine, address: str, name: str) -> str | None:
    text = machine.line(f"{DEVICES}/{address}/{name}")
    return text.lower().removeprefix("0x") if text else None


def _device(
    machine: Machine, names: pci_names.Names, address: str, vendor: str, device: str, code: str, role: str
) -> PciDevice:
    folder = f"{DEVICES}/{address}"
    name = names.name(vendor, device)
    runtime = machine.line(f"{folder}/power/runtime_status")
    power = machine.line(f"{folder}/power_state")
    link = pci_link.link(machine, folder, vendor, asleep=runtime == "suspended" or power == "D3cold")
    chip, generation, capability, gfx, integrated = _chip(vendor, device, address, name)
    return PciDevice(
        address=address,
        vendor=vendor,
        device=device,
        class_code=code,
        role=role,
        name=name,
        subsystem=_subsystem(machine, address),
        revision=_hex(machine, address, "revision"),
        driver=(machine.link(f"{folder}/driver") or "").rpartition("/")[2] or None,
        chip=chip,
        generation=generation,
        capability=capability,
        gfx=gfx,
        integrated=integrated,
        link_generation=link.generation,
        link_width=link.width,
        link_generation_max=link.generation_max,
        link_width_max=link.width_max,
        numa_node=_numa(machine, folder),
        power_state=power,
        runtime_status=runtime,
        bar1=_bar1(machine, folder, vendor) if role == "gpu" else None,
    )


def _subsystem(machine: Machine, address: str) -> Maybe[str | None]:
    vendor, device = _hex(machine, address, "subsystem_vendor"), _hex(machine, address, "subsystem_device")
    return f"{vendor}:{device}" if vendor and device else None


def _numa(machine: Machine, folder: str) -> Maybe[int | None]:
    """The node; -1 stands for none, and a kernel without NUMA has no such file."""
    text = machine.line(f"{folder}/numa_node")
    if text is None or text == "-1":
        return None
    return int(text) if text.isdigit() else Unknown(f"{folder}/numa_node says {text!r}")


Chip = tuple[Maybe[str | None], Maybe[str | None], Maybe[str | None], Maybe[str | None], Maybe[bool]]


def _chip(vendor: str, device: str, address: str, name: Maybe[str | None]) -> Chip:
    """Chip, generation, compute capability, gfx and whether it is part of the processor."""
    why = Unknown(f"the device id {vendor}:{device} is newer than the tables of this gpudoctor")
    if vendor == NVIDIA:
        chip = nvidia_chip(device, name if isinstance(name, str) else None)
        if chip is None:
            return why, why, why, None, why
        # Tegra's chips and GB10 end in A or B after two digits (GA10B, GB20B); chipsets are MCP and C7x.
        inside = chip.code.startswith(("MCP", "C7")) or (len(chip.code) == 5 and chip.code[4] in "AB")
        return chip.code, chip.architecture or why, chip.capability or why, None, inside
    if vendor == AMD:
        found = amd_chip(device)
        return (found.code, None, None, found.gfx, found.integrated) if found else (why, None, None, why, why)
    # Intel's graphics in the processor is always device 2 of bus 0; what other vendors make computes nothing.
    return None, None, None, None, vendor == INTEL and address.endswith(":00:02.0")


def _bar1(machine: Machine, folder: str, vendor: str) -> Maybe[int | None]:
    """The size of the window into the memory: 0 where the firmware has found no room for it."""
    if vendor not in (NVIDIA, AMD, INTEL):
        return None
    text = machine.line(f"{folder}/resource")
    rows = [[int(word, 16) for word in line.split()] for line in (text or "").splitlines()]
    if len(rows) < 6 or any(len(row) != 3 for row in rows):
        return Unknown(f"{folder}/resource cannot be read")
    # AMD's window is the first BAR, Intel's the third. NVIDIA's is the second; a first one of 64 bits (Hopper and
    # later) takes two rows.
    start, end, flags = rows[{AMD: 0, INTEL: 2}.get(vendor, 2 if rows[0][2] & MEM_64 else 1)]
    return end - start + 1 if start and not flags & UNSET else 0
