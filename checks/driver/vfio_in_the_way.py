"""vfio-pci is bound to the GPU for a virtual machine."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, PciDevice
from gpudoctor.fixes import module, system
from gpudoctor.maybe import present
from gpudoctor.queries.cards import LENDERS, any_works, card_name, computes_elsewhere, owned_by
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, in_container, nvidia_host
from gpudoctor.tasks import Edit, Task, as_root, cmd, query
from gpudoctor.tasks.placeholders import FILE


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    bound = owned_by(facts, *LENDERS)
    tasks: list[Task] = []
    for card in bound[:2]:
        tasks.append(Edit(f"/sys/bus/pci/drivers/{present(card.driver)}/unbind", text=f"{card.address}\n", root=True))
        tasks.append(Edit(f"/sys/bus/pci/devices/{card.address}/driver_override", text="\n", root=True))
    tasks.append(as_root("modprobe", "nvidia"))
    tasks += [Edit("/sys/bus/pci/drivers/nvidia/bind", text=f"{card.address}\n", root=True) for card in bound[:2]]
    message = (
        "If the GPU is meant for a virtual machine, leave it as it is and use the GPU there. To use it on this host "
        "until the next boot: shut the virtual machine down, and bind the GPU to nvidia."
    )
    if in_container(facts):
        return (module.on_the_host(f"On the host: {message}"),)
    now = Fix(message, tuple(tasks), "reload-module", root=True, verify=query("lspci", "-k", "-d", "10de:"))
    return (now, _for_good(facts, bound))


def _for_good(facts: Facts, bound: tuple[PciDevice, ...]) -> Fix:
    ids = ", ".join(dict.fromkeys(f"{card.vendor}:{card.device}" for card in bound))
    message = (
        f"To use it on this host permanently: delete the GPU's id ({ids}) from the file that the first command lists "
        "(ids= of vfio-pci; after a change in /etc/default/grub regenerate grub's configuration too), then reboot."
    )
    look = query("grep", "-rn", "vfio", "/etc/modprobe.d", "/etc/default/grub", "/proc/cmdline")
    commands = (look, cmd("sudoedit", FILE, person=True), *system.initramfs(facts), as_root("reboot"))
    return Fix(
        message,
        commands,
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=query("lspci", "-k", "-d", "10de:"),
    )


@check(
    title="GPU reserved for a virtual machine (vfio-pci)",
    severity=Severity.WARNING,
    cause="A PCI device has one driver at a time. vfio-pci reserves the GPU for a virtual machine (passthrough), so "
    "this host's programs cannot use it. This is often intended.",
    fixes=_fixes,
    references=("https://docs.kernel.org/driver-api/vfio.html",),
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
    message = f"{cards} is bound to {driver} for a virtual machine, so NVIDIA's driver cannot claim it on this host."
    return Problem(message, texts(events(facts, "already-bound")), severity=Severity.ADVICE if rest else None)
