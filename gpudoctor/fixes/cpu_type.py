"""The CPU type that a hypervisor shows to its guest."""

from gpudoctor.check_engine import Fix
from gpudoctor.tasks import cmd, filtered, query
from gpudoctor.tasks.placeholders import MACHINE, VMID

_LOOK = filtered(query("lscpu"), query("grep", "-E", "Model name|Flags"))


def host_cpu() -> Fix:
    """Show the guest the host's own CPU, with all its instruction sets."""
    return Fix(
        "On the host of this virtual machine: set its CPU type to host (at least x86-64-v3, where guests migrate "
        "between hosts), then stop and start the guest; a reboot inside is not enough. Proxmox, or libvirt "
        "(<cpu mode='host-passthrough'/>):",
        (
            cmd("qm", "set", VMID, "--cpu", "host"),
            cmd("virt-xml", MACHINE, "--edit", "--cpu", "host-passthrough"),
        ),
        "change-environment",
        needs="restart of the virtual machine",
        root=True,
        verify=_LOOK,
        place="outside",
    )
