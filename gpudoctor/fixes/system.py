"""Fixes by the distribution's package manager, and by restarting what still has the old state."""

from collections.abc import Sequence

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI
from gpudoctor.fixes.apt_pins import lifted
from gpudoctor.knowledge import packages, systems
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.targets import in_container
from gpudoctor.tasks import Command, Shell, Task, Tasks, as_root
from gpudoctor.tasks.placeholders import KERNEL


def family_of(facts: Facts) -> packages.Family | None:
    """The family of the distribution; None where it is unknown or its package manager is not supported."""
    distribution = facts.host.distribution
    if isinstance(distribution.id, Unknown) or own_system_of(facts) is not None:
        return None
    return packages.family(distribution.id, distribution.like)


def own_system_of(facts: Facts) -> tuple[systems.OwnSystem, dict[str, str]] | None:
    """The system that this is if it installs the driver in a way of its own; a container's kernel is its host's."""
    own, kernel = facts.host.distribution.id, facts.host.kernel.release
    if isinstance(own, Unknown) or isinstance(kernel, Unknown) or in_container(facts):
        return None
    return systems.own_system(own, kernel)


def host_family(facts: Facts | None) -> packages.Family | None:
    """The family of the system that has the kernel and the driver; None where it is unknown: of a container's host."""
    return None if facts is None or in_container(facts) else family_of(facts)


def kernel_of(facts: Facts) -> str:
    """The kernel's release, or the blank for it."""
    release = facts.host.kernel.release
    return KERNEL.name if isinstance(release, Unknown) else release


def has_yum_only(facts: Facts) -> bool:
    """Whether this is a release of the Fedora family before dnf: RHEL 7 and its rebuilds, Amazon Linux 2."""
    found = facts.host.distribution
    release = found.version.partition(".")[0] if isinstance(found.version, str) else ""
    before = {"rhel": "67", "centos": "67", "ol": "67", "scientific": "67", "amzn": "2"}
    return bool(release) and isinstance(found.id, str) and release in before.get(found.id, "")


def is_image(facts: Facts) -> bool:
    """Whether this system is image-based (Silverblue, bootc): rpm-ostree adds packages to it, dnf does not.

    https://coreos.github.io/rpm-ostree/administrator-handbook/
    """
    return facts.nvidia.kernel.image_keys is not None and family_of(facts) == "fedora"


_LAYERED = {"reinstall": "upgrade", "install": "install", "remove": "uninstall"}


def _own(facts: Facts, found: Command) -> Command:
    """The command of dnf as this system has it: rpm-ostree's, or yum's.

    A package of the image itself comes again with the next image.
    """
    program, word, *names = found.argv
    if is_image(facts) and program == "dnf" and word in _LAYERED:
        names = [] if word == "reinstall" else names
        return as_root("rpm-ostree", _LAYERED[word], *names, note="The packages take effect after a reboot.")
    if has_yum_only(facts) and program == "dnf":
        return msgspec.structs.replace(found, argv=("yum", word, *names))
    return found


def install(facts: Facts, *names: str) -> tuple[Command, ...]:
    """The commands that install system packages; none where the package manager is not known."""
    family = family_of(facts)
    if family is None:
        return ()
    return (*_finished_first(facts), *lifted(facts, names), _own(facts, packages.install_command(family, names)))


def reinstall(facts: Facts, *names: str) -> tuple[Command, ...]:
    """The commands that reinstall system packages."""
    family = family_of(facts)
    return () if family is None else (*_finished_first(facts), _own(facts, packages.reinstall_command(family, names)))


def remove(facts: Facts, *names: str) -> tuple[Command, ...]:
    """The commands that remove system packages."""
    family = family_of(facts)
    return () if family is None else (*_finished_first(facts), _own(facts, packages.remove_command(family, names)))


def half_installed(facts: Facts) -> tuple[str, ...]:
    """The driver's packages that dpkg began to install and did not finish.

    dpkg(1): half-installed, unpacked and half-configured packages, H, U and F as the second letter.
    """
    packages = known_or(facts.nvidia.kernel.packages, ()) if family_of(facts) == "debian" else ()
    return tuple(name for name, _, state in packages if state[1:2] in ("H", "U", "F"))


def _finished_first(facts: Facts) -> tuple[Command, ...]:
    """The same before other packages, but where a module's build failed: there dpkg would only fail again.

    A package whose script failed keeps apt from nothing, other than a dpkg that was interrupted.
    """
    return () if facts.nvidia.kernel.dkms_errors else finished(facts)


def finished(facts: Facts) -> tuple[Command, ...]:
    """What dpkg has to end first where it was interrupted: apt refuses all else until then."""
    return packages.finish_commands() if half_installed(facts) else ()


def upgrade(facts: Facts, **names: Sequence[str]) -> Tasks:
    """The commands that bring newer releases of packages; of everything, where parts are not upgraded alone.

    Args:
        facts: the machine.
        names: the packages in each family: debian, fedora, suse; a family without names has no command.
    """
    family = family_of(facts)
    own = names.get(family or "", ())
    if is_image(facts):
        return (as_root("rpm-ostree", "upgrade"),)
    if family == "arch":
        return (as_root("pacman", "-Syu"),)
    if not own:
        return ()
    if family == "fedora":
        fresh = () if has_yum_only(facts) else ("--refresh",)
        return (_own(facts, as_root("dnf", "upgrade", *fresh, *own)),)
    if family == "suse":
        return (as_root("zypper", "refresh"), as_root("zypper", "update", *own))
    return (as_root("apt-get", "update"), as_root("apt-get", "install", "--only-upgrade", *own))


def driver_packages(facts: Facts) -> tuple[str, ...]:
    """Names of the driver's installed packages; empty where they are unknown."""
    found = facts.nvidia.kernel.packages
    return () if isinstance(found, Unknown) else tuple(name for name, _version, _state in found)


def initramfs(facts: Facts) -> tuple[Command, ...]:
    """The command that rebuilds the initial RAM disk, which contains a copy of modules and blacklists.

    An image brings its own, and the kernel's command line does the same there.
    """
    if is_image(facts):
        return ()
    if facts.host.kernel.by_dracut is True and family_of(facts) in ("debian", None):
        return (as_root("dracut", "--force"),)
    return {
        "debian": (as_root("update-initramfs", "-u"),),
        "fedora": (as_root("dracut", "--force"),),
        "suse": (as_root("dracut", "--force"),),
        "arch": (as_root("mkinitcpio", "-P"),),
    }.get(family_of(facts) or "", ())


def initramfs_hint(facts: Facts) -> str:
    """Which tool rebuilds the initial RAM disk, where this distribution's command is not known."""
    if initramfs(facts) or is_image(facts):
        return ""
    return (
        " Rebuild the initial RAM disk (initramfs) with this distribution's tool (dracut, mkinitcpio, genkernel "
        "initramfs ...)."
    )


def reboot(message: str = "Reboot.", verify: Task | None = NVIDIA_SMI) -> Fix:
    """Reboot the machine."""
    return Fix(message, (as_root("reboot"),), action="reboot", root=True, needs="reboot", verify=verify)


def relogin(message: str, tasks: Tasks, undo: Tasks = (), verify: Task | None = None) -> Fix:
    """A change of the user's groups, which applies from the next login on."""
    return Fix(message, tasks, action="relogin", root=True, needs="log out and in", undo=undo, verify=verify)


def join_groups(facts: Facts, names: str) -> Task:
    """The command that adds this user to groups, separated by commas."""
    user = known_or(facts.host.user.name, None)
    if user is None:
        return Shell(f"usermod -aG {names} $USER", root=True)
    return as_root("usermod", "-aG", names, user)


def leave_group(facts: Facts, name: str) -> Task:
    """The command that removes this user from a group."""
    user = known_or(facts.host.user.name, None)
    return as_root("gpasswd", "-d", user, name) if user else Shell(f"gpasswd -d $USER {name}", root=True)
