"""vfio-pci is bound to the GPU for a virtual machine."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent, PciDevice
from gpudoctor.fixes import module, system
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.maybe import present
from gpudoctor.queries.cards import LENDERS, any_works, card_name, computes_elsewhere, owned_by
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, in_container, nvidia_host
from gpudoctor.tasks import Edit, Shell, Task, as_root, cmd, query, sentence
from gpudoctor.tasks.placeholders import FILE

_HELD = (
    "The firmware draws the boot screen into this card's memory, and the kernel keeps a framebuffer there (efifb, "
    "simplefb, simpledrm). vfio-pci cannot reserve the window, so the virtual machine gets a GPU that does not work."
)
_STUCK = (
    "The host resets a GPU between two runs of a virtual machine. This one did not come back from a reset of its "
    "function (FLR), which Blackwell's GPUs do not survive; a reset of the bus they do."
)
_RELEASE = (
    "cd /sys/bus/platform/drivers; for n in efi-framebuffer simple-framebuffer; do "
    "[ ! -e $n/$n.0 ] || echo $n.0 > $n/unbind; done"
)
_LENT = {
    "vfio-window-held": ("the host's boot framebuffer holds its memory, so no virtual machine can use it", _HELD),
    "vfio-not-ready": ("it did not come back from its last reset, so no virtual machine can use it", _STUCK),
}


def _of_guest(facts: Facts) -> LogEvent | None:
    """The last reason in the log why a virtual machine cannot use a GPU that is reserved for one."""
    bound = [card.address for card in owned_by(facts, *LENDERS)]
    return next((e for e in reversed(events(facts, *_LENT)) if e.gpu in bound), None)


def _for_guest(facts: Facts, event: LogEvent) -> tuple[Fix, ...]:
    device = f"/sys/bus/pci/devices/{present(event.gpu)}"
    if event.kind == "vfio-not-ready":
        verify = query("cat", f"{device}/power_state")
        bus = Fix(
            "Then, before a virtual machine starts: let the kernel reset the bus instead of the function. It holds "
            "until the next boot.",
            (query("cat", f"{device}/reset_method"), Edit(f"{device}/reset_method", text="bus\n", root=True)),
            root=True,
            verify=query("cat", f"{device}/reset_method"),
        )
        message = "Shut down the virtual machines, and power this host off and on: a reboot may not reset the card."
        return (power_cycle(facts, message, verify), bus)
    message = "Let the kernel make no framebuffer at boot; the host's screen stays dark until a driver starts it."
    now = Fix(
        "Until the next boot: take the framebuffer from the GPU, and start the virtual machine again.",
        (Shell(f"sh -c '{_RELEASE}'", root=True),),
        root=True,
        verify=query("grep", "-E", "BOOTFB|efifb|simple", "/proc/iomem", root=True),
    )
    return (now, kernel_parameter(facts, message, "initcall_blacklist=sysfb_init"))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    guest = _of_guest(facts)
    if guest is not None and not in_container(facts):
        return _for_guest(facts, guest)
    bound = owned_by(facts, *LENDERS)
    tasks: list[Task] = []
    for card in bound[:2]:
        tasks.append(Edit(f"/sys/bus/pci/drivers/{present(card.driver)}/unbind", text=f"{card.address}\n", root=True))
        tasks.append(Edit(f"/sys/bus/pci/devices/{card.address}/driver_override", text="\n", root=True))
    tasks.append(as_root("modprobe", "nvidia"))
    tasks += [Edit("/sys/bus/pci/drivers/nvidia/bind", text=f"{card.address}\n", root=True) for card in bound[:2]]
    kept = "If the GPU is meant for a virtual machine, leave it as it is and use the GPU there."
    once = "To use it on this host until the next boot: shut the virtual machine down, and bind the GPU to nvidia."
    if in_container(facts):
        return (module.on_the_host(f"On the host: {kept} {once}"),)
    verify = query("lspci", "-k", "-d", "10de:")
    if named := _out_of_files(facts, bound, kept, verify):
        return (named, Fix(once, tuple(tasks), "reload-module", root=True, verify=verify))
    now = Fix(f"{kept} {once}", tuple(tasks), "reload-module", root=True, verify=verify)
    return (now, _by_hand(facts, bound, verify))


def _ids(bound: tuple[PciDevice, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{card.vendor}:{card.device}" for card in bound))


def _out_of_files(facts: Facts, bound: tuple[PciDevice, ...], kept: str, verify: Task) -> Fix | None:
    """Take the GPUs' ids out of modprobe.d's lines, where these name all of them.

    vfio_pci_fill_ids skips an empty id: torvalds/linux, drivers/vfio/pci/vfio_pci.c.
    """
    kernel, ids = facts.nvidia.kernel, _ids(bound)
    words = [word for line in kernel.vfio_lines for word in line.text.split()]
    # Otherwise the kernel command line sets them, which counts.
    if f"ids={kernel.options.get('vfio_pci.ids', '')}" not in words:
        return None
    naming = [line for line in kernel.vfio_lines if any(one in line.text.lower() for one in ids)]
    if not all(any(one in line.text.lower() for line in naming) for one in ids):
        return None
    files = tuple(dict.fromkeys(line.path for line in naming))
    edits = (as_root("sed", "-i", "; ".join(f"s/{one},\\?//I" for one in ids), path) for path in files)
    return Fix(
        f"{kept} To use it on this host permanently: take its id ({', '.join(ids)}) out of {' and '.join(files)}, then "
        "reboot.",
        (*edits, *system.initramfs(facts), as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=sentence(f"Add the id to ids= in {' and '.join(files)} again, and rebuild the initial RAM disk."),
        verify=verify,
    )


def _by_hand(facts: Facts, bound: tuple[PciDevice, ...], verify: Task) -> Fix:
    message = (
        f"To use it on this host permanently: delete the GPU's id ({', '.join(_ids(bound))}) from the file that the "
        "first command lists (ids= of vfio-pci; after a change in /etc/default/grub regenerate grub's configuration "
        "too), then reboot."
    )
    look = query("grep", "-rn", "vfio", "/etc/modprobe.d", "/etc/default/grub", "/proc/cmdline")
    commands = (look, cmd("sudoedit", FILE, person=True), *system.initramfs(facts), as_root("reboot"))
    return Fix(message, commands, "reboot", root=True, needs="reboot", impact="persistent", verify=verify)


@check(
    title="GPU reserved for a virtual machine (vfio-pci)",
    severity=Severity.WARNING,
    cause="A PCI device has one driver at a time. vfio-pci reserves the GPU for a virtual machine (passthrough), so "
    "this host's programs cannot use it. This is often intended.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/driver-api/vfio.html",
        "https://github.com/siderolabs/talos/issues/14356",
        "https://github.com/tinygrad/tinygrad/pull/18199",
    ),
    targets=nvidia_host,
    caused_by=DEAD,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
    bearable=False,
)
def vfio_in_the_way(facts: Facts) -> Problem | None:
    """The PCI function's driver is vfio-pci; with another GPU for the host it is only advice."""
    bound = owned_by(facts, *LENDERS)
    if not bound:
        return None
    rest = len(cards_of(facts, "nvidia")) > len(bound) or any_works(facts) or computes_elsewhere(facts)
    cards = " and ".join(card_name(card) for card in bound[:4])
    driver = present(bound[0].driver)
    guest = _of_guest(facts)
    if guest is not None:
        what, cause = _LENT[guest.kind]
        message = f"The GPU at {present(guest.gpu)} is bound to {driver} for a virtual machine, and {what}."
        return Problem(message, texts((guest,)), cause)
    message = f"{cards} is bound to {driver} for a virtual machine, so NVIDIA's driver cannot claim it on this host."
    return Problem(message, texts(events(facts, "already-bound")), severity=Severity.ADVICE if rest else None)
