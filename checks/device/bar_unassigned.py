"""The firmware or the hypervisor gave the GPU no room for its memory windows."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import Manual, filtered, query, sentence

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


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    virtual = hypervisor(facts)
    realloc = Fix(
        "Let the kernel assign the windows itself: add pci=realloc to the kernel command line, and reboot.",
        (),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=sentence("Remove pci=realloc again."),
        verify=filtered(query("dmesg", root=True), query("grep", "-i", "BAR")),
    )
    if virtual is not None:
        return (_of_hypervisor(virtual), realloc)
    message = (
        "In the firmware setup (BIOS) enable Above 4G Decoding (and Resizable BAR), boot in UEFI mode without CSM, "
        "and update the BIOS; then reboot."
    )
    return (Fix(message, (), "reboot", needs="reboot", impact="persistent", verify=query("nvidia-smi")), realloc)


def _of_hypervisor(virtual: str) -> Fix:
    message, lines = _HYPERVISORS.get(virtual, _KVM)
    # 512 GiB holds the windows of four cards of 80 GB, rounded up to powers of two, and more.
    commands = tuple(Manual(line.format(room=512, megabytes=512 * 1024), "configuration") for line in lines)
    return Fix(
        message,
        commands,
        "reboot",
        needs="restart of the virtual machine",
        impact="persistent",
        verify=query("nvidia-smi"),
    )


@check(
    title="BAR1 not assigned: the GPU's memory window has no address",
    severity=Severity.ERROR,
    cause="A GPU with much memory needs large 64-bit address windows (BARs). The firmware or hypervisor found no room "
    "for them (no 64-bit MMIO, Above 4G Decoding off), so BAR1 is 0M, invalid, and the driver's probe fails.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/gpu-operator/issues/492",
        "https://github.com/NVIDIA/open-gpu-kernel-modules",
    ),
    targets=not_wsl,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def bar_unassigned(facts: Facts) -> Problem | None:
    """The driver reports it in the log; or sysfs shows a window of size 0 on a card without a driver."""
    faulty = [on for _, on in nvidia_addresses(facts) if _without_window(on)]
    if not faulty:
        return None
    virtual = hypervisor(facts)
    where = f"the hypervisor ({virtual})" if virtual else "the firmware"
    names = " and ".join(on.name for on in faulty[:4])
    have = "have no memory window" if len(faulty) > 1 else "has no memory window"
    message = f"{names} {have}: BAR1 is 0M, invalid. It was not assigned by {where}."
    # The kernel's message is only evidence: it also logs the first try, after which it finds room.
    logged = tuple(event for kind in ("bar-invalid", "bar-no-space") for on in faulty for event in on.events(kind))
    return Problem(message, texts(logged))


def _without_window(on: OnAddress) -> bool:
    if on.answers:
        return False
    return bool(on.events("bar-invalid")) or (on.card is not None and on.card.bar1 == 0 and on.card.driver is None)
