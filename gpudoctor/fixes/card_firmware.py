"""What a card needs of firmware or hypervisor (address space, VBIOS, power cycle), and its replacement."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.fixes.cloud import MOVES, another_host
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.targets import cards_of, in_container
from gpudoctor.tasks import Manual, Shell, Task, as_root, filtered, query
from gpudoctor.tasks.placeholders import HOST_ADDRESS, VMID

_HYPERVISORS = {
    "vmware": (
        "In the VM's settings (.vmx) use EFI firmware, enable 64-bit MMIO and set a window of at least twice the "
        "GPUs' memory; VMware's settings are below. Then start the VM again.",
        (
            'firmware = "efi"',
            'pciPassthru.use64bitMMIO = "TRUE"',
            'pciPassthru.64bitMMIOSizeGB = "{room}"',
        ),
    ),
    "microsoft": (
        "On the Hyper-V host give the VM more MMIO space, then start it again.",
        ("Set-VM NAME -LowMemoryMappedIoSpace 3Gb -HighMemoryMappedIoSpace {room}GB",),
    ),
}
_KVM = (
    "Start the VM with UEFI firmware (OVMF, machine type q35) and a larger 64-bit MMIO window on the hypervisor.",
    ("-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string={megabytes}",),
)
# Of a card that no longer responds on the bus.
SILENT = (
    "Shut down the machine, wait ten seconds and start it again: a reset does not always revive a GPU that stopped "
    "responding. If it still does not start, it is badly seated, lacks a power cable, or is broken."
)
# The host resets the device when a guest lets go of it: vfio_pci_core_disable, torvalds/linux,
# drivers/vfio/pci/vfio_pci_core.c; https://github.com/gnif/vendor-reset has why that may not be enough.
_GUEST = (
    "Shut down this virtual machine and start it again from its host (ask who runs it), which resets the GPU; a reboot "
    "may not be enough. If the GPU stays away, power-cycle the host: nothing in the virtual machine cuts its power."
)


def ask_vendor(message: str) -> Fix:
    """Collect the report that the vendor's support asks for."""
    return Fix(message, (query("nvidia-bug-report.sh", root=True),), "ask-vendor", root=True, impact="none")


HAVE_REPLACED = ask_vendor("Have the card replaced (RMA): collect a report for the vendor's support.")
# Of a card whose memory is defective.
REPLACE_CARD = (
    Fix(
        "Take the GPU out of service: drain or cordon the node, and run no job on this GPU.",
        (query("nvidia-smi", "-q", "-d", "ROW_REMAPPER,ECC,PAGE_RETIREMENT"),),
        "replace-hardware",
        impact="none",
    ),
    HAVE_REPLACED,
)


def more_room(facts: Facts, verify: Task) -> tuple[Fix, ...]:
    """Give the GPUs' memory windows address space: in the firmware setup, or on the hypervisor.

    Args:
        facts: the machine.
        verify: the command that shows that the driver reaches the GPU.
    """
    virtual = hypervisor(facts)
    look = filtered(query("dmesg", root=True), query("grep", "-i", "BAR"))
    realloc = kernel_parameter(facts, "Let the kernel assign the windows itself.", "pci=realloc", look)
    if virtual is not None:
        return (_of_hypervisor(virtual, verify), realloc)
    message = (
        "In the firmware setup (BIOS) enable Above 4G Decoding (and Resizable BAR), boot in UEFI mode without CSM, "
        "and update the BIOS; then reboot."
    )
    firmware = Fix(message, (), "reboot", needs="reboot", impact="persistent", verify=verify)
    if not any(device.authorized is True for device in known_or(facts.host.thunderbolt, ())):
        # A laptop's firmware has no such setting: h8d13/archinstoo#244, xCuri0/ReBarUEFI#119.
        return (realloc, firmware) if _is_laptop(facts) else (firmware, realloc)
    # Documentation/admin-guide/kernel-parameters.txt (pci=); https://github.com/system76/firmware-open/issues/66
    message = (
        "If the GPU is in an enclosure on Thunderbolt or USB4: reserve room for its windows on the ports of that bus, "
        "which firmware leaves too small. A newer firmware (BIOS) may do the same."
    )
    return (kernel_parameter(facts, message, "pci=realloc,hpmmioprefsize=16G", look), firmware)


def _is_laptop(facts: Facts) -> bool:
    names = (known_or(card.name, None) or "" for card in cards_of(facts, "nvidia"))
    return facts.host.platform == "laptop" or any("Laptop GPU" in name or "Mobile" in name for name in names)


def _of_hypervisor(virtual: str, verify: Task) -> Fix:
    message, lines = _HYPERVISORS.get(virtual, _KVM)
    # 512 GiB holds the windows of four cards of 80 GB, rounded up to powers of two, and more.
    commands = tuple(Manual(line.format(room=512, megabytes=512 * 1024), "configuration") for line in lines)
    return Fix(
        message,
        commands,
        "reboot",
        needs="restart of the virtual machine",
        impact="persistent",
        verify=verify,
    )


def video_bios(facts: Facts, verify: Task) -> tuple[Fix, ...]:
    """Give a card its video BIOS: in a guest by the hypervisor; an integrated GPU's comes from the mainboard.

    A guest whose firmware tables are the mainboard's (passed through, or hidden from drivers) has only the processor's
    flag; it is offered both.

    https://github.com/isc30/ryzen-gpu-passthrough-proxmox has how the image is taken on the host. The headers of VFCT
    are UEFI_ACPI_VFCT (76 bytes) and VFCT_IMAGE_HEADER (28): torvalds/linux, drivers/gpu/drm/amd/include/atombios.h.

    Args:
        facts: the machine.
        verify: the command that shows that the driver reaches the GPU.
    """
    message = (
        "Update the mainboard's BIOS/UEFI, which contains an integrated GPU's VBIOS (ACPI table VFCT). If it is a "
        "card: reseat it, switch it to its second BIOS, or have it replaced."
    )
    own = Fix(message, (as_root("poweroff"),), "power-cycle", root=True, needs="power cycle", verify=verify)
    if known_or(facts.host.virtual, None) is None:
        return (own,)
    guest = _of_guest(verify)
    return (guest,) if hypervisor(facts) else (guest, own)


def _of_guest(verify: Task) -> Fix:
    message = (
        "On the hypervisor, save the GPU's video BIOS (VBIOS) to a file and pass it to the VM as romfile (Proxmox; the "
        "last line is libvirt's); the VM needs UEFI firmware (OVMF). The first line is for a card, the second for an "
        "integrated GPU, which has no ROM: its VBIOS is the image in the ACPI table VFCT, after 104 bytes of headers."
    )
    rom, file = "/sys/bus/pci/devices/ADDRESS/rom", "/usr/share/kvm/vbios.bin"
    commands = (
        Shell(f"sh -c 'echo 1 > {rom}; cat {rom} > {file}'", root=True, placeholders=(HOST_ADDRESS,)),
        Shell(f"sh -c 'tail -c +105 /sys/firmware/acpi/tables/VFCT > {file}'", root=True),
        Shell("qm set VMID --hostpci0 ADDRESS,pcie=1,romfile=vbios.bin", root=True, placeholders=(VMID, HOST_ADDRESS)),
        Manual(f"<rom file='{file}'/>", "configuration"),
    )
    needs = "restart of the virtual machine"
    return Fix(message, commands, "reboot", root=True, needs=needs, verify=verify, place="outside")


def power_cycle(facts: Facts, message: str, verify: Task = NVIDIA_SMI) -> Fix:
    """What takes the power from a GPU; a guest has none to disconnect.

    Args:
        facts: the machine.
        message: what to do where the machine is of metal.
        verify: the command that shows that the driver reaches the GPU.
    """
    inside = in_container(facts)
    if hypervisor(facts) and not inside:
        if facts.cloud.provider in MOVES:
            return another_host(facts)
        message = _GUEST
    if inside:
        message = f"On the host: {message[:1].lower()}{message[1:]}"
    return Fix(
        message,
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=verify,
        place="outside" if inside else "here",
    )


def look_at_card(facts: Facts, message: str) -> Fix:
    """What only somebody at the machine can look at: in a guest, who runs the host.

    https://pve.proxmox.com/wiki/PCI_Passthrough

    Args:
        facts: the machine.
        message: what to look at where the machine is of metal.
    """
    if not hypervisor(facts) or in_container(facts):
        return Fix(message, (), "replace-hardware")
    message = (
        "If it still fails: on the host, read what its kernel logs of the card, and try the card there without a "
        "virtual machine. A guest with a GPU needs UEFI firmware (OVMF), machine type q35, CPU type host, and a window "
        "for 64-bit MMIO that is larger than the GPU's memory."
    )
    log = filtered(query("dmesg", root=True), query("grep", "-iE", "vfio|AER|BAR"))
    return Fix(message, (log,), "replace-hardware", root=True, place="outside")
