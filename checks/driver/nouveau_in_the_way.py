"""The open-source driver nouveau is bound to the GPU although NVIDIA's driver is installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.maybe import present
from gpudoctor.queries.cards import any_works, card_name, owned_by
from gpudoctor.queries.cause_groups import BUILD, DEAD
from gpudoctor.queries.driver import module_at_hand
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import in_container, nvidia_host
from gpudoctor.tasks import Edit, Tasks, as_root, query


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if "nouveau" in facts.nvidia.kernel.blacklists:
        return _old_ram_disk(facts)
    lines = "blacklist nouveau\noptions nouveau modeset=0\n"
    commands: Tasks = (
        Edit("/etc/modprobe.d/blacklist-nouveau.conf", text=lines, root=True),
        *system.initramfs(facts),
        *_command_line(facts),
        as_root("reboot"),
    )
    message = f"Blacklist nouveau, also in the initial RAM disk (initramfs), then reboot.{system.initramfs_hint(facts)}"
    if in_container(facts):
        return (module.on_the_host(f"On the host: {message}", *commands),)
    undo = Edit("/etc/modprobe.d/blacklist-nouveau.conf", gone=True, root=True)
    return (
        Fix(
            message,
            commands,
            "reboot",
            root=True,
            needs="reboot",
            undo=(undo,),
            verify=query("lspci", "-k", "-d", "10de:"),
        ),
    )


def _old_ram_disk(facts: Facts) -> tuple[Fix, ...]:
    """The blacklist exists; the copy of modprobe.d in the initial RAM disk is older."""
    commands = (*system.initramfs(facts), *_command_line(facts), as_root("reboot"))
    message = (
        "Rebuild the initial RAM disk (initramfs), so that it contains the blacklist, then "
        f"reboot.{system.initramfs_hint(facts)} If nouveau is still loaded first, something else loads it: add "
        "modprobe.blacklist=nouveau to the kernel command line."
    )
    if in_container(facts):
        return (module.on_the_host(f"On the host: {message}", *commands),)
    return (Fix(message, commands, "reboot", root=True, needs="reboot", verify=query("lspci", "-k", "-d", "10de:")),)


def _command_line(facts: Facts) -> Tasks:
    """Fedora's and SUSE's initial RAM disks load display drivers early: there the command line decides."""
    if system.family_of(facts) != "fedora":
        return ()
    modules = "nouveau,nova_core"
    if system.is_image(facts):
        names = (f"rd.driver.blacklist={modules}", f"modprobe.blacklist={modules}")
        return (as_root("rpm-ostree", "kargs", *(f"--append-if-missing={name}" for name in names)),)
    return (
        as_root("grubby", "--update-kernel=ALL", f"--args=rd.driver.blacklist={modules} modprobe.blacklist={modules}"),
    )


@check(
    title="nouveau is bound to the GPU instead of NVIDIA's driver",
    severity=Severity.ERROR,
    cause="A PCI device has one driver at a time. nouveau, which was loaded first at boot, cannot run CUDA, and "
    "nvidia finds no free device.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        "https://github.com/negativo17/nvidia-driver/issues/73",
    ),
    targets=nvidia_host,
    caused_by=(*DEAD, *BUILD),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def nouveau_in_the_way(facts: Facts) -> Problem | None:
    """The PCI function's driver is nouveau, and a module of NVIDIA's is installed."""
    bound = owned_by(facts, "nouveau")
    if not bound or not module_at_hand(facts) or _fell_back(facts):
        return None
    cards = " and ".join(card_name(card) for card in bound[:2])
    message = (
        f"{cards} is bound to {present(bound[0].driver)}, the kernel's open-source driver, so NVIDIA's module cannot "
        "claim it."
    )
    why = None
    if "nouveau" in facts.nvidia.kernel.blacklists:
        message += " It is blacklisted, but was loaded anyway."
        why = (
            "modprobe.d blacklists nouveau, but the initial RAM disk (initramfs) is older and has a copy without "
            "that line: nouveau is loaded from it before the root file system is mounted."
        )
    # Next to a GPU that computes: usually an old card for the displays, which NVIDIA's driver no longer supports.
    severity = Severity.ADVICE if any_works(facts) else None
    return Problem(message, texts(events(facts, "nouveau-init", "already-bound", "probe-not-called")), why, severity)


def _fell_back(facts: Facts) -> bool:
    """Whether nouveau was loaded because the kernel had rejected NVIDIA's module: it is blacklisted until then.

    RPM Fusion's nvidia-fallback.service does so (https://rpmfusion.org/Howto/NVIDIA).
    """
    rejected = events(facts, "module-rejected") and facts.host.kernel.secure_boot is not False
    return bool(rejected) and "nouveau" in facts.nvidia.kernel.blacklists
