"""The free driver nouveau holds the GPU although NVIDIA's driver is installed."""

from gpudoctor.driver_view import BUILD, DEAD, card_name, events, module_at_hand, owned_by, texts
from gpudoctor.facts import Facts
from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.remedies import module, system
from gpudoctor.subjects import in_container, nvidia_host


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    lines = "blacklist nouveau\\noptions nouveau modeset=0\\n"
    commands = (
        f"printf '{lines}' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf",
        *system.initramfs(facts),
        *_command_line(facts),
        "sudo reboot",
    )
    says = "Blacklist nouveau, also in the initial RAM disk, then restart."
    if in_container(facts):
        return (module.on_the_host(f"On the host: {says}", *commands),)
    undo = "sudo rm /etc/modprobe.d/blacklist-nouveau.conf"
    return (Fix(says, commands, "reboot", root=True, needs="reboot", undo=undo, verify="lspci -k -d 10de:"),)


def _command_line(facts: Facts) -> tuple[str, ...]:
    """Fedora's and SUSE's initial RAM disks load display drivers early: there the command line decides."""
    if system.family_of(facts) != "fedora":
        return ()
    modules = "nouveau,nova_core"
    return (f'sudo grubby --update-kernel=ALL --args="rd.driver.blacklist={modules} modprobe.blacklist={modules}"',)


@check(
    title="The free driver nouveau holds the GPU",
    severity=Severity.ERROR,
    cause="A PCI device has one driver at a time. nouveau was first, at boot; it runs no CUDA, and nvidia finds no "
    "free device.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        "https://github.com/negativo17/nvidia-driver/issues/73",
    ),
    each=nvidia_host,
    because=(*DEAD, *BUILD),
    affects=("everything",),
    seen=("simulated 2026-11",),
)
def nouveau_in_the_way(facts: Facts) -> Problem | None:
    """The PCI function's driver is nouveau, and a module of NVIDIA's is at hand."""
    held = owned_by(facts, "nouveau")
    if not held or not module_at_hand(facts):
        return None
    cards = " and ".join(card_name(card) for card in held[:2])
    says = f"{cards} is bound to {held[0].driver}, the kernel's free driver, so NVIDIA's module cannot claim it."
    return Problem(says, texts(events(facts, "nouveau-init", "already-bound", "probe-not-called")))
