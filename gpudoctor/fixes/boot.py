"""Fixes that change the kernel's boot parameters."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import nixos
from gpudoctor.fixes.system import family_of, is_image, kernel_of
from gpudoctor.maybe import known_or
from gpudoctor.targets import in_container
from gpudoctor.tasks import Edit, Task, Tasks, as_root, query, sed, sentence

# GRUB's title of the entries below its menu "Advanced options for ..." (util/grub.d/10_linux.in), where it is certain.
_MENU = {"ubuntu": "Ubuntu", "debian": "Debian GNU/Linux"}
_MAKE = {
    "debian": as_root("update-grub"),
    "suse": as_root("grub2-mkconfig", "-o", "/boot/grub2/grub.cfg"),
    "arch": as_root("grub-mkconfig", "-o", "/boot/grub/grub.cfg"),
}


def kernel_parameter(facts: Facts, message: str, parameter: str, verify: Task | None = None) -> Fix:
    """Add a parameter to the kernel command line and reboot; manually where the boot loader is not known.

    Args:
        facts: the machine.
        message: what it does, a sentence.
        parameter: the parameter.
        verify: the command that verifies the fix.
    """
    where = "On the host: " if in_container(facts) else ""
    return Fix(
        f"{where}{message} Add {parameter} to the kernel command line and reboot.",
        _then_reboot(_commands(facts, parameter)),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=sentence(f"Remove {parameter} again in the same way, and reboot."),
        place="outside" if in_container(facts) else "here",
        verify=verify or query("cat", "/proc/cmdline"),
    )


def _then_reboot(changed: Tasks) -> Tasks:
    """A reboot alone changes nothing."""
    return (*changed, as_root("reboot")) if changed else ()


def _commands(facts: Facts, parameter: str) -> Tasks:
    family = family_of(facts)
    if nixos.is_nixos(facts):
        return nixos.for_boot(f'boot.kernelParams = [ "{parameter}" ];')
    if is_image(facts):
        return (as_root("rpm-ostree", "kargs", f"--append-if-missing={parameter}"),)
    if facts.host.distribution.id == "pop":  # systemd-boot; https://github.com/pop-os/kernelstub
        return (as_root("kernelstub", "--add-options", parameter),)
    if family == "fedora":
        return (as_root("grubby", "--update-kernel=ALL", f"--args={parameter}"),)
    add = Edit("/etc/default/grub", word=("GRUB_CMDLINE_LINUX", parameter), root=True)
    return (add, _MAKE[family]) if family in _MAKE else ()


def without_parameters(facts: Facts, message: str, parameters: tuple[str, ...], verify: Task) -> Fix:
    """Remove parameters from the kernel command line and reboot; manually where the boot loader is not known.

    Args:
        facts: the machine.
        message: what it does, a sentence.
        parameters: the parameters, as /proc/cmdline has them.
        verify: the command that verifies the fix.
    """
    family, both = family_of(facts), " ".join(parameters)
    found: Tasks = ()
    if is_image(facts):
        found = tuple(as_root("rpm-ostree", "kargs", f"--delete-if-present={one}") for one in parameters)
    elif facts.host.distribution.id == "pop":
        found = (as_root("kernelstub", "--delete-options", both),)
    elif family == "fedora":
        found = (as_root("grubby", "--update-kernel=ALL", f"--remove-args={both}"),)
    elif family in _MAKE:
        words = "; ".join(f"s/ *{sed.literal(one)}//" for one in parameters)
        found = (as_root("sed", "-i", words, "/etc/default/grub"), _MAKE[family])
    return Fix(
        f"{message} Remove {both} from the kernel command line and reboot.",
        _then_reboot(found),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=sentence(f"Add {both} again in the same way, and reboot."),
        verify=verify,
    )


def into_kernel(facts: Facts, release: str, message: str, verify: Task) -> Fix:
    """Boot another installed kernel, as the boot loader allows; by its menu where that is not known.

    Args:
        facts: the machine.
        release: of the kernel: "6.17.7-300.fc43.x86_64".
        message: which kernel, and why; a sentence.
        verify: the command that verifies the fix.
    """
    family, own = family_of(facts), known_or(facts.host.distribution.id, "")
    chosen: Tasks = ()
    undo: Tasks = ()
    hint = ""
    if is_image(facts):
        chosen = (query("rpm-ostree", "status"), as_root("rpm-ostree", "rollback"))
        undo = (as_root("rpm-ostree", "rollback"),)
    elif family == "fedora":
        chosen = (as_root("grubby", "--set-default", f"/boot/vmlinuz-{release}"),)
        undo = (as_root("grubby", "--set-default", f"/boot/vmlinuz-{kernel_of(facts)}"),)
    elif kernel_of(facts).endswith("-pve"):  # https://pve.proxmox.com/wiki/Host_Bootloader#sysboot_kernel_pin
        chosen = (as_root("proxmox-boot-tool", "kernel", "pin", release),)
        undo = (as_root("proxmox-boot-tool", "kernel", "unpin"),)
    elif own == "pop":  # systemd-boot; https://github.com/pop-os/pop/issues/3645
        hint = " Hold the space bar while the machine starts and select it; the key d makes it the default."
    elif own in _MENU:
        title = _MENU[own]
        chosen = (as_root("grub-reboot", f"Advanced options for {title}>{title}, with Linux {release}"),)
        hint = " The command selects it for the next boot; later, select it under Advanced options in the boot menu."
    else:
        hint = " Select it in the boot menu (GRUB: Advanced options)."
    return Fix(
        f"{message}{hint}", (*chosen, as_root("reboot")), "reboot", root=True, needs="reboot", undo=undo, verify=verify
    )
