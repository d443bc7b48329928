"""What keeps a driver or a kernel from being upgraded while it is in use: optional, after the fix, and taken back."""

import re

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.facts.history import RecordedChange
from gpudoctor.fixes.system import driver_packages, family_of, has_yum_only, is_image, kernel_of
from gpudoctor.knowledge import packages
from gpudoctor.maybe import known_or
from gpudoctor.queries.driver import branch
from gpudoctor.queries.history import automatic, driver_change, kernel_change, release
from gpudoctor.queries.repositories import has_source
from gpudoctor.tasks import Command, Edit, Tasks, as_root, lines, query, sentence

# unattended-upgrades takes regular expressions that match the beginning of names (its README, "Package-Blacklist").
_DRIVER = ("nvidia-", "libnv(idia|cuvid|optix)", "xserver-xorg-video-nvidia", "libcuda1", "cuda-drivers")
_KERNEL = ("linux-(image|headers|modules|objects|signatures|generic|lowlatency|virtual|kvm|aws|azure|gcp|oracle)",)
# Modules that are built for one kernel each, by Canonical: without the module of its own a new kernel has none.
_PREBUILT = ("linux-modules-nvidia-", "linux-objects-nvidia-")
_COST = "Security updates of the driver then wait until you"


def keep_driver(facts: Facts, version: str | None) -> tuple[Fix, ...]:
    """Return what keeps the driver at its version, where a record shows that a package manager upgraded it.

    Args:
        facts: the machine.
        version: of the driver's libraries.
    """
    change, family = driver_change(facts, version), family_of(facts)
    if change is None or change.action == "install" or family is None or is_image(facts) or has_yum_only(facts):
        return ()
    # kmod-nvidia-6.10.3-200.fc40 of akmods: there is another one for each kernel.
    names = [n for n in driver_packages(facts) if not re.match(r"kmod-nvidia-\d", n)]
    fix = {"debian": _apt, "fedora": _dnf, "suse": _zypper, "arch": _pacman}[family](facts, change, tuple(names))
    return (fix,) if fix and names else ()


def keep_kernel(facts: Facts) -> tuple[Fix, ...]:
    """Return what keeps unattended-upgrades from the kernel, where a record shows that it brought the running one."""
    change = kernel_change(facts)
    if change is None or automatic(change) != "unattended-upgrades" or family_of(facts) != "debian":
        return ()
    return (_unattended("kernel", "52unattended-upgrades-kernel", _KERNEL),)


def hold_kernel(facts: Facts) -> tuple[Fix, ...]:
    """Return what keeps the package manager from installing further kernels; none where unknown."""
    family, own = family_of(facts), facts.host.distribution
    if is_image(facts) or has_yum_only(facts):
        return ()
    message = (
        "keep the package manager from installing other kernels until a fixed one is out. Security updates of the "
        "kernel then wait until you {} it."
    )
    if family == "fedora":
        return (_locked_by_dnf(message.format("unlock"), ("kernel-core",), plugin=own.id != "fedora"),)
    if family == "suse":
        return (_locked_by_zypper(message.format("unlock"), ("kernel-default",)),)
    release = known_or(own.version, None)
    if own.id == "ubuntu" and release:
        return (_held(message.format("unhold"), ("linux-generic", f"linux-generic-hwe-{release}")),)
    return ()


def keep_together(facts: Facts, manager: str) -> tuple[Fix, ...]:
    """Return what keeps the driver and its fabric manager at one version; none where they have no packages here.

    Args:
        facts: the machine.
        manager: the fabric manager's package.
    """
    family, names = family_of(facts), tuple(dict.fromkeys((*driver_packages(facts), manager)))
    if family in (None, "arch") or is_image(facts) or has_yum_only(facts) or len(names) == 1:
        return ()
    message = f"keep the driver and {manager} at one version. {_COST} {{}} the packages and upgrade them together."
    if family == "debian":
        return (_held(message.format("unhold"), names),)
    if family == "suse":
        return (_locked_by_zypper(message.format("unlock"), names),)
    fedora = facts.host.distribution.id == "fedora"  # whose releases have had dnf 5 since 41; RHEL 10 has dnf 4
    return (_locked_by_dnf(message.format("unlock"), names, plugin=not fedora),)


def _fix(message: str, tasks: Tasks, undo: Tasks, verify: Tasks = ()) -> Fix:
    root = any(getattr(task, "root", False) for task in tasks)
    shows = next(iter(verify), None)
    action: Action = "change-environment"
    if any(isinstance(task, Command) and "install" in task.argv for task in tasks):
        action = "reinstall-package"
    return Fix(f"Optional: {message}", tasks, action, root, None, "persistent", undo, shows, later=True)


def _unattended(what: str, file: str, names: tuple[str, ...]) -> Fix:
    """A file of apt's settings; lists of several files add up (apt.conf(5))."""
    path = f"/etc/apt/apt.conf.d/{file}"
    listed = "".join(f'    "{name}";\n' for name in names)
    write = Edit(path, text=f"Unattended-Upgrade::Package-Blacklist {{\n{listed}}};\n", root=True)
    message = (
        f"keep unattended-upgrades from upgrading the {what} while in use. Security updates of the {what} then wait "
        "until you run apt upgrade and reboot."
    )
    shows = query("apt-config", "dump", "Unattended-Upgrade::Package-Blacklist")
    return _fix(message, (write,), (Edit(path, gone=True, root=True),), (shows,))


def _apt(facts: Facts, change: RecordedChange, names: tuple[str, ...]) -> Fix | None:
    prebuilt = any(name.startswith(_PREBUILT) for name in names)
    if automatic(change) == "unattended-upgrades":
        what = "driver and kernel" if prebuilt else "driver"
        listed = (*_PREBUILT, *_DRIVER, *_KERNEL) if prebuilt else _DRIVER
        return _unattended(what, "52unattended-upgrades-nvidia", listed)
    old, new = (branch(release(text or "")) for text in (change.old, change.new))
    if new and old != new and has_source(facts, "nvidia"):
        pin = f"nvidia-driver-pinning-{new}"
        message = f"keep apt on branch {new} of the driver; upgrades within it still come, and need a reboot each."
        return _fix(message, (as_root("apt-get", "install", pin),), (as_root("apt-get", "remove", pin),))
    if prebuilt:
        return None  # a newer kernel would be left without a module
    message = f"hold the driver's packages, so that apt upgrade leaves them alone. {_COST} unhold them."
    return _held(message, names)


def _held(message: str, names: tuple[str, ...]) -> Fix:
    undo = (as_root("apt-mark", "unhold", *names),)
    return _fix(message, (as_root("apt-mark", "hold", *names),), undo, (query("apt-mark", "showhold"),))


def _dnf(_facts: Facts, change: RecordedChange, names: tuple[str, ...]) -> Fix | None:
    """Modules without akmods or DKMS are built for one kernel."""
    if not any("akmod" in name or "dkms" in name for name in names):
        return None
    message = (
        f"lock the driver's packages at their versions, so that dnf upgrade leaves them alone. {_COST} unlock them."
    )
    return _locked_by_dnf(message, names, plugin="libdnf5" not in change.source)


def _locked_by_dnf(message: str, names: tuple[str, ...], plugin: bool) -> Fix:
    """The command is dnf 5's own, and a plugin of dnf 4."""
    brought = (as_root("dnf", "install", "python3-dnf-plugin-versionlock"),) if plugin else ()
    return _fix(
        message,
        (*brought, as_root("dnf", "versionlock", "add", *names)),
        (as_root("dnf", "versionlock", "delete", *names),),
        (query("dnf", "versionlock", "list"),),
    )


def _zypper(_facts: Facts, _change: RecordedChange, names: tuple[str, ...]) -> Fix | None:
    return _locked_by_zypper(
        f"lock the driver's packages, so that zypper update leaves them alone. {_COST} unlock them.", names
    )


def _locked_by_zypper(message: str, names: tuple[str, ...]) -> Fix:
    undo = (as_root("zypper", "removelock", *names),)
    return _fix(message, (as_root("zypper", "addlock", *names),), undo, (query("zypper", "locks"),))


def _pacman(facts: Facts, _change: RecordedChange, names: tuple[str, ...]) -> Fix | None:
    """With the kernel: https://wiki.archlinux.org/title/System_maintenance#Partial_upgrades_are_unsupported."""
    headers = packages.headers_package("arch", kernel_of(facts))
    held = " ".join((headers.removesuffix("-headers"), headers, *names))
    message = (
        "hold the driver and the kernel in /etc/pacman.conf, below [options], until you can reboot. Arch supports no "
        "partial upgrades: take the line out and upgrade everything soon."
    )
    return _fix(message, (lines(f"IgnorePkg = {held}"),), sentence("Take the line IgnorePkg out again."))
