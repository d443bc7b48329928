"""Cutting the power of a GPU that no longer responds: the machine's own, a hypervisor's, or a cloud's."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes.cloud import MOVES, another_host
from gpudoctor.fixes.system import NVIDIA_SMI
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.targets import in_container
from gpudoctor.tasks import Task, as_root, filtered, query

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
