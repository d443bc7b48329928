"""Fixes of the NVIDIA driver: which branch and flavor fit, and how this distribution installs it."""

import msgspec

from gpudoctor.check_engine import Fix
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts
from gpudoctor.fixes import apt_pins, cloud, debian_driver, fabric, image, nixos, own_system, prebuilt
from gpudoctor.fixes.system import (
    driver_packages,
    family_of,
    has_yum_only,
    install,
    is_image,
    kernel_of,
    remove,
    upgrade,
)
from gpudoctor.knowledge import drivers, generations, packages, repositories
from gpudoctor.maybe import known_or, text_of
from gpudoctor.queries.clouds import is_vgpu_guest
from gpudoctor.queries.driver import user_version
from gpudoctor.queries.repositories import has_source
from gpudoctor.targets import cards_of, gpus_of, in_container
from gpudoctor.tasks import Command, Shell, Tasks, as_root, cmd, query

GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
DOWNLOADS = "https://www.nvidia.com/en-us/drivers/unix/"


def branch_of(version: str | None) -> int | None:
    """The driver branch of a version: "550.54.14" is of branch 550."""
    return number_of((version or "").split(".")[0])


def generations_of(facts: Facts) -> tuple[generations.GpuGeneration, ...]:
    """The generations of the NVIDIA GPUs on this machine, as far as they are known."""
    logged = [c.generation for c in cards_of(facts, "nvidia")] + [g.generation for g in gpus_of(facts, "nvidia")]
    names = {name for name in logged if isinstance(name, str)}
    found = (generations.generation_named(name) for name in sorted(names))
    return tuple(g for g in found if g is not None)


def last_branch(facts: Facts) -> int | None:
    """The last branch that supports every GPU here; None: no end is known."""
    return min((g.last_driver for g in generations_of(facts) if g.last_driver), default=None)


def best_branch(facts: Facts, at_least: int = 0) -> int | None:
    """The newest driver branch that supports every GPU here, from what is known; None: none does.

    A machine with a card that newer branches dropped needs the last branch that still supports it; otherwise
    the newest production or long-term branch is used, or the newest one that an older release has packages of.
    """
    found, last = generations_of(facts), last_branch(facts)
    first = max((g.first_driver for g in found if g.first_driver), default=0)
    packaged = newest_packaged(facts)
    branch = last if last is not None else drivers.advised_branch()
    if packaged is not None and max(first, at_least) <= packaged < branch:
        return packaged
    if packaged is not None and last is None:
        branch = drivers.advised_branch(_first_of_nvidia(facts))
    return branch if branch >= max(first, at_least) else None


def flavor_for(facts: Facts, branch: int | None = None) -> packages.Flavour | None:
    """The kernel modules' flavor that supports every GPU here; None where no flavor supports them all.

    Args:
        facts: the facts.
        branch: of the driver; older ones' open modules refuse GeForce and workstation GPUs by default.
    """
    rules = {g.open_module for g in generations_of(facts)}
    if {"no", "required"} <= rules:
        return None
    if "required" in rules:
        return "open"
    early = branch is not None and branch < drivers.first_open_for_all()
    return "proprietary" if "no" in rules or early or _comes_proprietary(facts, branch) else "open"


def _comes_proprietary(facts: Facts, branch: int | None) -> bool:
    """Whether the branch is this release's own, and its driver's package takes the proprietary modules by itself."""
    newest, own = newest_packaged(facts), text_of(facts.host.distribution.id)
    packaged = newest is not None and branch is not None and branch <= newest
    return packaged and packages.proprietary_first(own)


def library_packages(facts: Facts) -> tuple[str, ...]:
    """The packages that contain libcuda and libnvidia-ml: those installed, else by the distribution's names."""
    parts = (
        *("nvidia-compute", "libcuda1", "libnvidia-ml", "-cuda1", "-ml1", "nvidia-driver-cuda", "drv-nvidia-cuda"),
        "nvidia-utils",
    )
    there = [name for name in driver_packages(facts) if any(part in name for part in parts)]
    if there:
        return debian_driver.both_libraries(tuple(name for name in there if not name.endswith(":i386")))
    loaded = facts.nvidia.kernel.loaded
    number, family = branch_of(loaded if isinstance(loaded, str) else None), family_of(facts)
    if number is None or family is None:
        return ()
    distribution = facts.host.distribution.id
    debian = ("libcuda1", "libnvidia-ml1") if distribution == "debian" else (f"libnvidia-compute-{number}",)
    own = distribution == "fedora" and not _is_negativo17(facts)
    fedora = "xorg-x11-drv-nvidia-cuda" if own else "nvidia-driver-cuda"
    names = {"debian": debian, "fedora": (fedora,), "suse": ("nvidia-compute-utils-G06",), "arch": ("nvidia-utils",)}
    return names[family]


def _is_negativo17(facts: Facts) -> bool:
    """Whether Fedora's driver comes from negativo17, whose packages have other names than RPM Fusion's."""
    there = driver_packages(facts)
    if any(name.startswith("xorg-x11-drv-nvidia") for name in there):
        return False
    return has_source(facts, "negativo17") or "nvidia-driver" in there


def install_driver(
    facts: Facts, branch: int | None = None, flavor: packages.Flavour | None = None, message: str | None = None
) -> Fix:
    """Install the driver that fits this machine's GPUs, from this distribution's packages; a vGPU's is in none."""
    if is_vgpu_guest(facts):
        return cloud.guest_driver(facts)
    newest = newest_packaged(facts)
    branch = branch or best_branch(facts) or drivers.advised_branch()
    flavor = flavor or flavor_for(facts, branch) or "open"
    if others := image.driver(facts, flavor, last_branch(facts)):
        return others[0]
    family, distribution = family_of(facts), facts.host.distribution.id
    words = "open kernel modules" if flavor == "open" else "proprietary kernel modules"
    message = message or f"Install NVIDIA's driver of branch {branch} with the {words}, then reboot."
    if fabric.has_manager(facts):
        message += " The NVLink fabric needs the fabric manager in exactly the driver's version."
    if newest is not None and branch > newest:
        return _by_nvidia(facts, branch, flavor, newest, message) or _by_installer(facts, branch, newest, message)
    found = None
    if family is not None and isinstance(distribution, str):
        origin = "negativo17" if has_source(facts, "negativo17") else None
        found = packages.driver_packages(family, distribution, branch, flavor, kernel_of(facts), origin)
    if nixos.is_nixos(facts):
        return nixos.install_driver(
            message, branch, flavor, any(g.last_driver == branch for g in generations_of(facts))
        )
    if family is None or found is None:
        return Fix(
            f"{message} Follow this distribution's own documentation, or NVIDIA's guide: {GUIDE}",
            action="reinstall-package",
            root=True,
            needs="reboot",
            verify=query("nvidia-smi"),
        )
    enabled, why = debian_driver.components(facts)
    unstable, from_unstable = debian_driver.unstable(facts, branch)
    added, why = (*enabled, *unstable), f"{why}{from_unstable}"
    actual = debian_driver.with_kernel(facts, _actual(facts, found, branch))
    kept, gone = debian_driver.instead_of_nvidias(facts, branch)
    other = () if gone else debian_driver.displaced(facts, found)
    signed = _signed_modules(facts, actual, branch, flavor)
    actual = msgspec.structs.replace(actual, names=(*actual.names, *signed))
    commands = (*added, *kept, *_before(facts, found, branch), *_commands(facts, family, actual, gone), *other)
    enrolled = debian_driver.enrolled(facts)
    message = f"{message}{why}{_under_secure_boot(facts, signed, bool(enrolled))}"
    tasks = (*commands, *_manager(facts, branch), *enrolled)
    return Fix(message, tasks, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi"))


def _signed_modules(
    facts: Facts, found: packages.DriverPackages, branch: int, flavor: packages.Flavour
) -> tuple[str, ...]:
    """Under Secure Boot the package with Ubuntu's signed modules: named together with the driver's, apt takes those.

    It provides the nvidia-dkms-... that the driver's package asks for, so nothing is built here and no key enrolled.
    """
    if facts.host.kernel.secure_boot is not True or found.prebuilt is None:
        return ()
    server = "-server" if any("-server" in name for name in found.names) else ""
    name = prebuilt.following(facts, f"{branch}{server}{'-open' if flavor == 'open' else ''}")
    there = any(one.startswith("nvidia-dkms-") for one in driver_packages(facts))
    return () if name is None or there or has_source(facts, "nvidia") else (name,)


def _under_secure_boot(facts: Facts, signed: tuple[str, ...], enrolled: bool) -> str:
    """What Secure Boot asks for after the packages; a container's kernel is the host's."""
    if facts.host.kernel.secure_boot is not True or in_container(facts):
        return ""
    if enrolled:
        return (
            " Secure Boot is on, and DKMS signs the module with a key of its own: the last command has it enrolled. It "
            'asks for a password, and the firmware asks for that at the next boot ("Enroll MOK"); without it the '
            "module is rejected."
        )
    if signed:
        return f" {signed[0]} has the modules that Ubuntu signed: Secure Boot, which is on, needs no key for them."
    return (
        " Secure Boot is on: if the packages build the module here, they ask for a password, and the firmware asks for "
        'it again at the next boot ("Enroll MOK"); without that the module is rejected.'
    )


def _actual(facts: Facts, found: packages.DriverPackages, branch: int) -> packages.DriverPackages:
    """The packages of exactly this branch.

    Where one has become a transitional package of a newer branch, the server packages of the branch take its place.
    """
    if debian_driver.of_other_flavor(facts, found) and found.dkms:
        return msgspec.structs.replace(found, names=tuple(dict.fromkeys((found.dkms, *found.names))))
    if has_yum_only(facts) and found.origin == "NVIDIA":  # without module streams the name alone brings the newest
        return msgspec.structs.replace(found, names=tuple(f"{name}-{branch}*" for name in found.names))
    there = facts.nvidia.kernel.packages if isinstance(facts.nvidia.kernel.packages, tuple) else ()
    own = f"nvidia-driver-{branch}"
    gone = any(
        name in (own, f"{own}-open") and (branch_of(version) or branch) > branch for name, version, _state in there
    )
    # Ubuntu's fabric manager is made from its -server driver, whose releases differ from the desktop's.
    # https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/
    if not gone and (not fabric.has_manager(facts) or has_source(facts, "nvidia")):
        return found
    names = tuple(name if "-server" in name else name.replace(own, f"{own}-server") for name in found.names)
    return msgspec.structs.replace(found, names=names)


def _manager(facts: Facts, branch: int) -> Tasks:
    """The fabric manager of the branch, where the GPUs need one: with another version the fabric does not come up."""
    return fabric.install_of_branch(facts, branch) if fabric.has_manager(facts) else ()


def newest_packaged(facts: Facts) -> int | None:
    """The newest branch among this release's own packages, where it is older than the recommended one."""
    found = facts.host.distribution
    if not isinstance(found.id, str) or not isinstance(found.version, str):
        return None
    return packages.newest_branch(found.id, found.version)


def _first_of_nvidia(facts: Facts) -> int:
    """The oldest branch in NVIDIA's repository for this release, where its packages are older than that."""
    own = facts.host.distribution
    return repositories.first_branch(known_or(own.id, None) or "", known_or(own.version, None) or "")


def _by_nvidia(facts: Facts, branch: int, flavor: packages.Flavour, newest: int, message: str) -> Fix | None:
    """For a Debian whose packages end before the branch: NVIDIA's repository; None where that has none for it."""
    added = _repositories(facts) if facts.host.distribution.id == "debian" else ()
    if not added or is_image(facts) or branch < _first_of_nvidia(facts):
        return None
    name = known_or(facts.host.distribution.name, None) or "Debian"
    drivers_of_nvidia = "nvidia-open" if flavor == "open" else "cuda-drivers"
    commands = (
        *apt_pins.lifted(facts, (drivers_of_nvidia,), nvidia=True),
        *added,
        as_root("apt-get", "update"),
        *install(facts, f"nvidia-driver-pinning-{branch}"),
        *install(facts, *debian_driver.kernel_packages(facts), drivers_of_nvidia),
        *_manager(facts, branch),
        *debian_driver.enrolled(facts),
    )
    message = f"{message} {name} has packages only up to branch {newest}, so it comes from NVIDIA's repository."
    message += _under_secure_boot(facts, (), enrolled=True)
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi"))


def _by_installer(facts: Facts, branch: int, newest: int, message: str) -> Fix:
    """For a release whose packages end before the branch: NVIDIA's own installer, which needs no package."""
    name = facts.host.distribution.name
    release = name if isinstance(name, str) else "This release"
    machine = facts.host.architecture if isinstance(facts.host.architecture, str) else "x86_64"
    message = (
        f"{message} {release} has packages only up to branch {newest}: remove those, download the newest {branch} "
        f"installer from {DOWNLOADS}, and run it without a desktop."
    )
    family = family_of(facts) or "debian"
    headers = packages.headers_package(family, kernel_of(facts))
    tools = install(facts, headers, "dkms", *packages.compiler_packages(family))
    old = [n for n in driver_packages(facts) if n.startswith(("nvidia-", "libnvidia-", "xserver-xorg-video-nvidia"))]
    gone = remove(facts, *old[:12]) if old else ()
    run = Shell(f"sh NVIDIA-Linux-{machine}-{branch}.*.run --dkms", root=True)
    commands: Tasks = (*gone, *tools, run)
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi"))


def _before(facts: Facts, found: packages.DriverPackages, branch: int) -> tuple[Command, ...]:
    """The repositories that a release lacks, then the branch: by module streams, or by a version lock without them.

    Where yum is all there is, the packages' names select the branch; an image has no module streams. A driver that
    came by packages has come from a repository, and a second one would mix two vendors' packages.
    """
    if has_yum_only(facts) or is_image(facts):
        return ()
    own = bool(driver_packages(facts)) or has_source(facts, "negativo17") or family_of(facts) == "debian"
    added = () if own else _repositories(facts)
    return (*added, *_chosen(facts, found, branch))


def _repositories(facts: Facts) -> tuple[Command, ...]:
    own = facts.host.distribution
    machine = known_or(facts.host.architecture, None) or "x86_64"
    return repositories.commands(known_or(own.id, None) or "", known_or(own.version, None) or "", machine)


def _chosen(facts: Facts, found: packages.DriverPackages, branch: int) -> tuple[Command, ...]:
    """How NVIDIA's repository provides this branch; newer distributions no longer have module streams."""
    own = facts.host.distribution
    release = known_or(own.version, None) or ""
    if found.before and (release.partition(".")[0] == "10" or own.id == "azurelinux"):
        return (
            as_root("dnf", "install", "python3-dnf-plugin-versionlock"),
            as_root("dnf", "versionlock", "add", f"*nvidia*{branch}*"),
        )
    streams = any(command.argv[:3] == ("dnf", "module", "enable") for command in found.before)
    # dnf does not switch from an enabled stream to another one (dnf.modularity: "It is not possible to switch").
    reset = (as_root("dnf", "module", "reset", "nvidia-driver"),) if streams and user_version(facts) else ()
    return (*reset, *found.before)


def _commands(
    facts: Facts, family: packages.Family, found: packages.DriverPackages, gone: tuple[Command, ...] = ()
) -> tuple[Command, ...]:
    if family == "arch":
        # DKMS uses the installed headers, and Arch supports no package that is newer than the rest.
        names = (packages.headers_package(family, kernel_of(facts)), *found.names)
        return (cmd("yay", "-Syu", *names) if found.origin == "AUR" else as_root("pacman", "-Syu", *names),)
    refresh = (packages.refresh_command(family),) if family == "debian" else ()
    others = [name for name in driver_packages(facts) if "nvidia" in name and name not in found.names]
    if found.origin == "RPM Fusion" and others and not is_image(facts):  # whose branches conflict with each other
        return (as_root("dnf", "install", "--allowerasing", *found.names),)
    return (*refresh, *gone, *install(facts, *found.names))


def other_release(facts: Facts) -> tuple[Fix, ...]:
    """Change the release of the driver where it faults and no newer branch is advised: a newer one, or the one before.

    The commands take the packages that are installed; a driver of the .run installer has none.
    """
    version = known_or(facts.nvidia.kernel.loaded, None) or "this one"
    return (
        newest_release(
            facts,
            f"If it happens again, driver {version} is at fault: update it to the newest release, then reboot.",
        ),
        release_before(
            facts,
            f"If it began with an update to {version}: downgrade all of the driver's packages together to the version "
            "before it, which the command lists or installs, then reboot.",
        ),
    )


def newest_release(facts: Facts, message: str) -> Fix:
    """Update the driver within its branch; the command takes the packages that are installed."""
    names = [name for name in driver_packages(facts) if "nvidia" in name]
    newer = upgrade(facts, debian=names[:12], fedora=("*nvidia*",), suse=("*nvidia*",)) or own_system.upgrade(facts)
    if newer == (as_root("pacman", "-Syu"),) and facts.host.distribution.id != "cachyos":
        newer = (cmd("yay", "-Syu"),) if any("xx-" in name for name in names) else newer  # the AUR has older branches
    return Fix(
        message,
        (*newer, as_root("reboot")) if newer else (),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )


def release_before(facts: Facts, message: str) -> Fix:
    """Downgrade the driver to an earlier release: the command lists those that there are, or installs the last one."""
    if is_image(facts):
        back = (query("rpm-ostree", "status"), as_root("rpm-ostree", "rollback"), as_root("systemctl", "reboot"))
        return Fix(
            f"{message} An image-based system goes back as a whole (rpm-ostree rollback).",
            back,
            "reinstall-package",
            root=True,
            needs="reboot",
            undo=(as_root("rpm-ostree", "rollback"),),
            verify=query("nvidia-smi"),
        )
    names = [name for name in driver_packages(facts) if "nvidia" in name]
    listed: dict[str, Tasks] = {
        "fedora": (as_root("dnf", "downgrade", "*nvidia*"),),
        "debian": (query("apt-cache", "policy", *names[:3]),) if names else (),
        "suse": (query("zypper", "search", "--details", "*nvidia*"),),
        "arch": (Shell("ls -t /var/cache/pacman/pkg/nvidia-*", lookup=True),),
    }
    commands = listed.get(family_of(facts) or "", ())
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=query("nvidia-smi"))
