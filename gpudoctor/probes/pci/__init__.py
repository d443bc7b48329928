"""The devices on the PCI bus that matter for GPU computing, from sysfs alone, so that none is woken."""

import msgspec

from gpudoctor.facts.host import Host
from gpudoctor.facts.pci import PciDevice
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.numbers import hexadecimal, whole
from gpudoctor.probes.pci import names as pci_names

DEVICES = "/sys/bus/pci/devices"
NVIDIA, AMD, INTEL, MELLANOX = "10de", "1002", "8086", "15b3"
# resource flags, include/linux/ioport.h: the register is 64 bits wide; the address was never assigned.
MEM_64, UNSET = 0x00100000, 0x20000000

# Of PCI classes: displays, processing accelerators, bridges of a kind of their own, network adapters.
_CLASSES = ("03", "12", "068", "02")
# drivers/base/power/sysfs.c (runtime_status_show) and drivers/pci/pci.c (pci_power_names).
RUNTIME_STATES = frozenset({"active", "suspended", "suspending", "resuming", "error", "unsupported"})
POWER_STATES = frozenset({"error", "D0", "D1", "D2", "D3hot", "D3cold", "unknown"})


def probe(machine: Machine, host: Host) -> Maybe[tuple[PciDevice, ...]]:
    """Return the devices that matter, by address: empty where there are none, as on most WSL machines."""
    if not machine.exists("/sys/bus"):
        return Unknown("/sys is not mounted")
    addresses = machine.names(DEVICES)
    ids = {address: _ids(machine, address) for address in addresses}
    chosen = [(address, *one, role) for address, one in ids.items() if one and (role := _role(*one))]
    if not chosen and None in ids.values():
        silent = next(address for address, one in ids.items() if one is None)
        return Unknown(f"{DEVICES}/{silent} does not show what it is")
    if not chosen and host.wsl is None and machine.exists("/sys/bus/pci") and not machine.exists(DEVICES):
        return Unknown(f"{DEVICES} is hidden here")
    names = pci_names.PciNames(machine)
    devices = tuple(_device(machine, names, *one) for one in chosen)
    return tuple(_with_path(machine, device, devices) for device in devices)


def _with_path(machine: Machine, device: PciDevice, everything: tuple[PciDevice, ...]) -> PciDevice:
    """A GPU with its way to the memory; ACS matters between peers alone."""
    if device.role != "gpu" or device.vendor not in (NVIDIA, AMD):
        return device
    peers = [d for d in everything if d.role == "gpu" and d.vendor == device.vendor]
    acs = len(peers) > 1 and machine.ids()[0] == 0
    from gpudoctor.probes.pci import path  # like all that is imported so, not for machines without a GPU

    way = path.path(machine, f"{DEVICES}/{device.address}", acs=acs)
    if not acs and len(peers) > 1:
        way = msgspec.structs.replace(
            way, acs=Unknown("the configuration space of PCI bridges can be read by root only")
        )
    return msgspec.structs.replace(device, **msgspec.structs.asdict(way))


def _ids(machine: Machine, address: str) -> tuple[str, str, str] | None:
    """Vendor, device and class; where a file of theirs cannot be read, what udev is told; None: nobody tells.

    Two small files are read of a device that does not matter, whose own number is left empty.
    """
    vendor, code = _hex(machine, address, "vendor"), _hex(machine, address, "class", 6)
    if vendor and code and not code.startswith(_CLASSES):
        return vendor, "", code
    device = _hex(machine, address, "device")
    if not vendor or not code or not device:  # PCI_CLASS=30000, PCI_ID=10DE:2684: drivers/pci/pci-driver.c
        reported = dict(line.partition("=")[::2] for line in _line(machine, address, "uevent").splitlines())
        ids = reported.get("PCI_ID", "").partition(":")
        vendor, device = vendor or _code(ids[0], 4), device or _code(ids[2], 4)
        code = code or _code(reported.get("PCI_CLASS", "").zfill(6), 6)
    return (vendor, device or "", code) if vendor and code else None


def _role(vendor: str, device: str, code: str) -> str | None:
    if code.startswith("03"):
        return "gpu"
    if code.startswith("12"):
        # Other vendors' accelerators (NPUs) run none of the frameworks that are looked at.
        return "gpu" if vendor in (NVIDIA, AMD) else "accelerator"
    if code.startswith("0680") and vendor == NVIDIA:
        from gpudoctor.knowledge.pci_ids import is_nvswitch

        if is_nvswitch(device):
            return "switch"
    return "network" if code.startswith(("0200", "0207")) and vendor == MELLANOX else None


def _line(machine: Machine, address: str, name: str) -> str:
    return machine.line(f"{DEVICES}/{address}/{name}") or ""


def _hex(machine: Machine, address: str, name: str, digits: int = 4) -> str | None:
    return _code(_line(machine, address, name), digits)


def _code(text: str, digits: int) -> str | None:
    """A hexadecimal number of so many digits, without 0x; None where the text is none."""
    word = text.lower().removeprefix("0x")
    return word if len(word) == digits and hexadecimal(word) is not None else None


def _state(machine: Machine, path: str, states: frozenset[str]) -> Maybe[str | None]:
    text = machine.line(path)
    return text if text is None or text in states else Unknown(f"{path} contains {text[:40]!r}")


def _device(
    machine: Machine, names: pci_names.PciNames, address: str, vendor: str, device: str, code: str, role: str
) -> PciDevice:
    from gpudoctor.probes.pci import link as pci_link

    folder = f"{DEVICES}/{address}"
    subsystem, revision = _subsystem(machine, address), _revision(machine, address)
    name = names.name(vendor, device) if vendor != AMD else names.of_revision(device, revision)
    runtime = _state(machine, f"{folder}/power/runtime_status", RUNTIME_STATES)
    power = _state(machine, f"{folder}/power_state", POWER_STATES)
    link = pci_link.link(machine, folder, vendor, asleep=runtime == "suspended" or power == "D3cold")
    chip, generation, capability, gfx, integrated = _chip(vendor, device, address, name)
    return PciDevice(
        address=address,
        vendor=vendor,
        device=device,
        class_code=code,
        role=role,
        name=name
        if isinstance(name, str) or role != "gpu"
        else pci_names.sold_as(vendor, device, subsystem, chip) or name,
        subsystem=subsystem,
        revision=revision,
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
    texts = [_line(machine, address, f"subsystem_{of}") for of in ("vendor", "device")]
    vendor, device = (_code(text, 4) for text in texts)
    if vendor and device:
        return f"{vendor}:{device}"
    return None if not all(texts) else Unknown(f"{DEVICES}/{address}/subsystem_* cannot be read")


def _revision(machine: Machine, address: str) -> Maybe[str | None]:
    text = _line(machine, address, "revision")
    return _code(text, 2) or (Unknown(f"{DEVICES}/{address}/revision contains {text[:40]!r}") if text else None)


def _numa(machine: Machine, folder: str) -> Maybe[int | None]:
    """The node; -1 stands for none, and a kernel without NUMA has no such file."""
    text = machine.line(f"{folder}/numa_node")
    if text is None or text == "-1":
        return None
    number = whole(text)
    return Unknown(f"{folder}/numa_node contains {text[:40]!r}") if number is None else number


Chip = tuple[Maybe[str | None], Maybe[str | None], Maybe[str | None], Maybe[str | None], Maybe[bool]]


def _chip(vendor: str, device: str, address: str, name: Maybe[str | None]) -> Chip:
    """Chip, generation, compute capability, gfx and whether it is part of the processor."""
    why = Unknown(f"the device ID {vendor}:{device} is not in the tables of this gpudoctor")
    from gpudoctor.knowledge.pci_ids import amd_chip, nvidia_chip

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
    rows = [_row(line) for line in (text or "").splitlines()]
    why = Unknown(f"{folder}/resource cannot be read")
    if len(rows) < 6 or rows[0] is None:
        return why
    # AMD's window is the first BAR, Intel's the third. NVIDIA's is the second; a first one of 64 bits (Hopper and
    # later) takes two rows.
    window = rows[{AMD: 0, INTEL: 2}.get(vendor, 2 if rows[0][2] & MEM_64 else 1)]
    if window is None:
        return why
    start, end, flags = window
    return (end - start + 1 if end >= start else why) if start and not flags & UNSET else 0


def _row(line: str) -> tuple[int, int, int] | None:
    """Start, end and flags; None where the line is none of such."""
    numbers = [hexadecimal(word) for word in line.split()]
    known = [number for number in numbers if number is not None]
    return (known[0], known[1], known[2]) if len(known) == len(numbers) == 3 else None
