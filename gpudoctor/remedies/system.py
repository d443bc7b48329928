"""Fixes by the distribution's package manager, and by restarting what holds the old state."""

from gpudoctor.facts import Facts
from gpudoctor.judge import Fix
from gpudoctor.knowledge import packages
from gpudoctor.maybe import Unknown


def family_of(facts: Facts) -> packages.Family | None:
    """The family of the distribution; None where it is unknown or has no package manager that we know."""
    distribution = facts.host.distribution
    if isinstance(distribution.id, Unknown):
        return None
    return packages.family(distribution.id, distribution.like)


def kernel_of(facts: Facts) -> str:
    """The kernel's release, or the words that make the shell fill it in."""
    release = facts.host.kernel.release
    return "$(uname -r)" if isinstance(release, Unknown) else release


def has_yum_only(facts: Facts) -> bool:
    """Whether this is a release of the Fedora family before dnf: RHEL 7 and its rebuilds, Amazon Linux 2."""
    found = facts.host.distribution
    release = found.version.partition(".")[0] if isinstance(found.version, str) else ""
    before = {"rhel": "67", "centos": "67", "ol": "67", "scientific": "67", "amzn": "2"}
    return bool(release) and isinstance(found.id, str) and release in before.get(found.id, "")


def is_image(facts: Facts) -> bool:
    """Whether this system is an image (Silverblue, bootc), to which rpm-ostree adds packages and dnf does not.

    https://coreos.github.io/rpm-ostree/administrator-handbook/
    """
    return facts.nvidia.kernel.image_keys is not None and family_of(facts) == "fedora"


def _layered(command: str) -> str:
    """The command of dnf as rpm-ostree's; a package of the image itself comes anew with the next image."""
    for word, own in (("reinstall", "upgrade"), ("install", "install"), ("remove", "uninstall")):
        stem, found, names = command.partition(f"dnf {word} ")
        if found:
            return f"{stem}rpm-ostree {own}{'' if own == 'upgrade' else ' ' + names}  # takes effect after a restart"
    return command


def _own(facts: Facts, command: str) -> tuple[str, ...]:
    if is_image(facts):
        return (_layered(command),)
    return (command.replace("dnf ", "yum ", 1) if has_yum_only(facts) else command,)


def install(facts: Facts, *names: str) -> tuple[str, ...]:
    """The commands that install system packages; none where the package manager is not known."""
    family = family_of(facts)
    return () if family is None else _own(facts, packages.install_command(family, names))


def reinstall(facts: Facts, *names: str) -> tuple[str, ...]:
    """The commands that install system packages again over themselves."""
    family = family_of(facts)
    return () if family is None else _own(facts, packages.reinstall_command(family, names))


def remove(facts: Facts, *names: str) -> tuple[str, ...]:
    """The commands that remove system packages."""
    family = family_of(facts)
    return () if family is None else _own(facts, packages.remove_command(family, names))


def driver_packages(facts: Facts) -> tuple[str, ...]:
    """Names of the driver's installed packages; empty where they are unknown."""
    found = facts.nvidia.kernel.packages
    return () if isinstance(found, Unknown) else tuple(name for name, _version, _state in found)


def initramfs(facts: Facts) -> tuple[str, ...]:
    """The command that makes the initial RAM disk anew, which keeps a copy of modules and blacklists.

    An image brings its own, and the kernel's command line does the same there.
    """
    if is_image(facts):
        return ()
    return {
        "debian": ("sudo update-initramfs -u",),
        "fedora": ("sudo dracut --force",),
        "suse": ("sudo dracut --force",),
        "arch": ("sudo mkinitcpio -P",),
    }.get(family_of(facts) or "", ())


def initramfs_says(facts: Facts) -> str:
    """Who makes the initial RAM disk anew, where this distribution's command is not known."""
    if initramfs(facts) or is_image(facts):
        return ""
    return (
        " Make the initial RAM disk anew with this distribution's tool (dracut, mkinitcpio, genkernel initramfs ...)."
    )


def reboot(says: str = "Restart the computer.", verify: str | None = "nvidia-smi") -> Fix:
    """Restart the machine."""
    return Fix(says, ("sudo reboot",), action="reboot", root=True, needs="reboot", verify=verify)


def relogin(says: str, commands: tuple[str, ...], undo: str | None = None, verify: str | None = None) -> Fix:
    """A change of the user's groups, which holds from the next login on."""
    return Fix(says, commands, action="relogin", root=True, needs="log out and in", undo=undo, verify=verify)
