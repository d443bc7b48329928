"""Fixes for AMD's compute driver: groups, device nodes, packages."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import kernel_packages, system
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.fixes.container_groups import into_container
from gpudoctor.fixes.system_container import open_node
from gpudoctor.knowledge import packages, rocm
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.targets import cards_of, gpus_of, in_container, in_system_container
from gpudoctor.tasks import Edit, Shell, Task, Tasks, as_root, filtered, query

INSTALL = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"
POST_INSTALL = f"{INSTALL}install/prerequisites.html"
CONTAINERS = f"{INSTALL}how-to/docker.html"
PROOF = filtered(query("rocminfo"), query("grep", "-E", "Name: +gfx"))
_LOADED = Shell("modinfo -F filename amdgpu; ls -l /dev/kfd", lookup=True)
UDEV = 'KERNEL=="kfd", GROUP="render", MODE="0660"'
_RULES = "/etc/udev/rules.d/70-amdgpu.rules"


def group_of(facts: Facts, node: DeviceNode) -> str:
    """The name of a node's group on this machine, or its number."""
    gid = known_or(node.gid, -1)
    groups = (*facts.host.user.known_groups, *known_or(facts.host.user.groups, ()))
    return next((g.name for g in groups if g.gid == gid and g.name), str(gid))


def is_member(facts: Facts, node: DeviceNode) -> bool:
    """Whether this process already has the node's group."""
    return any(g.gid == node.gid for g in known_or(facts.host.user.groups, ()))


def is_for_root_alone(facts: Facts, node: DeviceNode) -> bool:
    """Whether no membership in a group opens the node: it is root's, or its group may not read and write."""
    return group_of(facts, node) in ("root", "0") or known_or(node.mode, "660")[-2:-1] not in ("6", "7")


def join_group(facts: Facts, node: DeviceNode) -> tuple[Fix, ...]:
    """Let the user open a node that returns EACCES: through its group, or a udev rule where it has none."""
    if in_system_container(facts):
        return open_node(facts, node, PROOF)
    if in_container(facts):
        return (into_container(facts, node, ("--device", "/dev/kfd", "--device", "/dev/dri"), PROOF),)
    if is_for_root_alone(facts, node):
        return (_udev_rule(facts, node),)
    if is_member(facts, node):
        return (_module_refuses(node),)
    name = group_of(facts, node)
    names = name if name == "video" else f"{name},video"
    commands = (system.join_groups(facts, names),)
    message = f"Add yourself to the group {name}, to which {node.path} belongs, then log out and in again."
    return (system.relogin(message, commands, (system.leave_group(facts, name),), PROOF),)


def _udev_rule(facts: Facts, node: DeviceNode) -> Fix:
    """Give the node to the group render as ROCm's packages do; who is in it needs nothing more than the rule."""
    rule = UDEV if node.path == "/dev/kfd" else 'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0660"'
    message = f"Add a udev rule that assigns {node.path} to the group render: no group can open it now"
    commands: Tasks = (
        Edit(_RULES, text=f"{rule}\n", root=True),
        as_root("udevadm", "control", "--reload-rules"),
        as_root("udevadm", "trigger"),
    )
    undo = (Edit(_RULES, gone=True, root=True),)
    verify = query("ls", "-l", node.path)
    mine, user = known_or(facts.host.user.groups, ()), facts.host.user
    render = {g.gid for g in (*mine, *user.known_groups) if g.name == "render"}
    if any(g.gid in render for g in mine):
        message += ", and your membership in render counts for nothing."
        return Fix(message, commands, "change-environment", root=True, undo=undo, verify=verify)
    return system.relogin(
        f"{message}. Then add yourself to that group.",
        (*commands, system.join_groups(facts, "render,video")),
        undo,
        verify,
    )


def _module_refuses(node: DeviceNode) -> Fix:
    return Fix(
        "Look for the message of the security module (SELinux, AppArmor) or sandbox that denies access: you are "
        f"already in the group of {node.path}.",
        (
            filtered(query("journalctl", "-k", "-b", root=True), query("grep", "-iE", "avc|apparmor"), query("tail")),
            query("getfacl", node.path),
        ),
        verify=PROOF,
    )


def finish_packages(facts: Facts, names: tuple[str, ...]) -> tuple[Fix, ...]:
    """Finish the installation of half-installed packages, or remove those that build the module; else all of them."""
    builds = tuple(name for name in names if "dkms" in name) or names
    rest: Tasks = (as_root("dpkg", "--configure", "-a"),) if builds != names else ()
    return (
        Fix(
            "Finish the packages' installation; the error that follows shows why it stopped.",
            (
                as_root("dpkg", "--configure", "-a"),
                as_root("apt-get", "install", "--fix-broken"),
                *system.reinstall(facts, *names),
            ),
            "reinstall-package",
            root=True,
            needs="reboot",
            verify=Shell("dkms status; ls -l /dev/kfd", lookup=True),
        ),
        Fix(
            "If the module does not build for this kernel: remove AMD's DKMS packages. The kernel's own amdgpu works "
            "with ROCm too, which `amdgpu-install --usecase=rocm --no-dkms` installs without them.",
            (*system.remove(facts, *builds), *rest, as_root("reboot")),
            "reinstall-package",
            root=True,
            needs="reboot",
            impact="persistent",
            undo=system.install(facts, *builds),
            verify=Shell("modinfo -F filename amdgpu; ls -l /dev/kfd", lookup=True),
        ),
    )


def without_dkms(facts: Facts, bug: Regression) -> tuple[Fix, ...]:
    """Remove the package of AMD's own amdgpu with a known bug, or install the release that does not have it."""
    remove = remove_dkms(
        facts,
        "Remove amdgpu-dkms: the kernel's own (in-tree) amdgpu does not have the bug and works with ROCm too. Later "
        "run amdgpu-install with --no-dkms.",
    )
    if not bug.fixed:
        return (remove,)
    listed = {"debian": (query("apt-cache", "policy", "amdgpu-dkms"),)}.get(system.family_of(facts) or "", ())
    newer = Fix(
        f"To keep AMD's own driver: switch AMD's repository to amdgpu {bug.fixed} or newer, upgrade amdgpu-dkms, and "
        f"reboot: {INSTALL}install/install-methods/package-manager-index.html",
        listed,
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=_LOADED,
    )
    return remove, newer


def remove_dkms(facts: Facts, message: str) -> Fix:
    """Remove AMD's own amdgpu, so that the kernel's own is loaded; with a kernel that drives the GPUs.

    Args:
        facts: the machine.
        message: what to do, and why.
    """
    if in_container(facts):
        there = f"On the host: {message[0].lower()}{message[1:]} Then reboot."
        return Fix(there, (), "reinstall-package", root=True, needs="reboot", verify=PROOF, place="outside")
    # the firmware's files take precedence over linux-firmware's; pacman aborts where a package is not installed
    names = ("amdgpu-dkms", *(() if system.family_of(facts) == "arch" else ("amdgpu-dkms-firmware",)))
    newer: Tasks = ()
    removed = system.remove(facts, *names)
    running = known_or(facts.host.kernel.release, "")
    first = max(filter(None, map(rocm.first_kernel, _targets(facts))), key=version, default="")
    if first and running[:1].isdigit() and version(running)[:2] < version(first):
        message += f" Its own amdgpu drives this GPU from kernel {first} on: install a newer kernel first."
        newer = kernel_packages.newest_kernel(facts)
    return Fix(
        message,
        (*newer, *removed, *system.initramfs(facts), as_root("reboot")) if removed else (),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=system.install(facts, *names),
        verify=_LOADED,
    )


def _targets(facts: Facts) -> tuple[str, ...]:
    return tuple(known_or(gpu.gfx, None) or "" for gpu in gpus_of(facts, "amd"))


def log_lines(facts: Facts, *kinds: str) -> tuple[str, ...]:
    """The kernel log's messages of these kinds."""
    events = () if isinstance(facts.log.events, Unknown) else facts.log.events
    return tuple(e.text for e in events if e.kind in kinds)[:4]


def shares_cards(facts: Facts) -> bool:
    """Whether this host assigns virtual functions of its cards to guests: AMD's driver for that is gim, not amdgpu."""
    return any(card.driver == "gim" for card in cards_of(facts, "amd"))


def passthrough(facts: Facts) -> tuple[Fix, ...]:
    """Put the IOMMU into passthrough mode."""
    verify = Shell("cat /sys/bus/pci/drivers/amdgpu/*/iommu_group/type", lookup=True)
    return (kernel_parameter(facts, "Set the IOMMU to passthrough mode.", "iommu=pt", verify),)


# AMD's package of firmware. Its files are in /lib/firmware/updates, where the kernel looks first
# (https://docs.kernel.org/driver-api/firmware/fw_search_path.html; ROCm/legacy-rocm-build#5566).
_FIRMWARE = "amdgpu-dkms-firmware"


def _hides_firmware(facts: Facts) -> bool:
    return any(name == _FIRMWARE and state[1:2] == "i" for name, _, state in known_or(facts.amd.packages, ()))


def without_own_firmware(facts: Facts) -> tuple[Fix, ...]:
    """Remove AMD's package of firmware where it hides the distribution's, which has had newer files before it."""
    if in_container(facts) or not _hides_firmware(facts) or system.family_of(facts) != "debian":
        return ()
    message = (
        f"If AMD's repository has no newer one: remove {_FIRMWARE}, whose files in /lib/firmware/updates hide those of "
        "linux-firmware, and amdgpu-dkms, which needs it: the kernel's own amdgpu works with ROCm too."
    )
    name = packages.amd_firmware_package("debian", known_or(facts.host.distribution.id, ""))
    newest = system.install(facts, name) if name else ()
    return (_firmware(message, facts, *system.remove(facts, _FIRMWARE), *newest),)


def newer_firmware(facts: Facts, message: str = "Install the newest AMD GPU firmware.") -> Fix:
    """Install newer firmware for AMD's GPUs: AMD's own driver has its own package, otherwise the distribution's."""
    if in_container(facts):  # whose distribution is not the host's
        return _firmware(
            f"On the host: {message[:1].lower()}{message[1:]} Then rebuild the initramfs, and reboot.", facts
        )
    family, identity = system.family_of(facts), known_or(facts.host.distribution.id, "")
    name = packages.amd_firmware_package(family, identity) if family else ""
    own = isinstance(facts.amd.version, str) or _hides_firmware(facts)
    name = _FIRMWARE if own and family == "debian" else name
    newer = system.upgrade(facts, fedora=(name,), suse=(name,))
    if family == "debian" and name:  # where the package may be missing
        newer = system.install(facts, name)
    rebuild = "Then" if system.is_image(facts) else "Then rebuild the initramfs, and"
    return _firmware(f"{message} {rebuild} reboot.", facts, *newer)


def _firmware(message: str, facts: Facts, *changed: Task) -> Fix:
    return Fix(
        message,
        (*changed, *system.initramfs(facts), as_root("reboot")) if changed else (),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=PROOF,
        place="outside" if in_container(facts) else "here",
    )


def older_firmware(facts: Facts, good: str = "") -> tuple[Fix, ...]:
    """Go back to the firmware before the last update, where the package manager still has it.

    Args:
        facts: the machine.
        good: the release that works, where it is known: "20251111".
    """
    family, identity = system.family_of(facts), known_or(facts.host.distribution.id, "")
    name = packages.amd_firmware_package(family, identity) if family else ""
    message = "If that is the newest already, or the faults began with an update: go back to the firmware before it"
    if good:
        message = f"If that is not newer yet: go back to the firmware of release {good}"
    if in_container(facts):
        there = f"On the host: {message[:1].lower()}{message[1:]}, rebuild the initramfs, and reboot."
        return (_firmware(there, facts),)
    back: Tasks = ()
    if system.is_image(facts):
        back = (query("rpm-ostree", "status"), as_root("rpm-ostree", "rollback"))
    elif name and family == "fedora":
        archive = identity == "fedora" and good  # the repositories of updates keep the newest release alone
        old = (as_root("dnf", "install", "fedora-repos-archive"),) if archive else ()
        where = ("--enablerepo=updates-archive", "downgrade") if archive else ("downgrade",)
        down = as_root("dnf", *where, f"{name}-{good}" if good else name)
        back = (*old, down)
    hint = "" if back else " (the distribution's archive has older packages), rebuild the initramfs"
    return (_firmware(f"{message}{hint}, and reboot.", facts, *back),)
