"""Fixes of NVIDIA's kernel module: load it, build it, finish its upgrade, and the same on a container's host."""

import re

from gpudoctor.check_engine import Action, Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import NVIDIA_SMI, boot, debian_driver, nixos, own_system, prebuilt, runfile, system
from gpudoctor.fixes.driver import flavor_for
from gpudoctor.fixes.system import driver_packages as driver_packages
from gpudoctor.knowledge import packages
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.queries.cards import USERS, owned_by
from gpudoctor.queries.driver import disk_version, held_packages, library_version, module_name, packages_of_release
from gpudoctor.targets import in_container
from gpudoctor.tasks import Task, Tasks, as_root, filtered, query

# The order in which the modules can be unloaded.
_ORDER = ("nvidia_drm", "nvidia_modeset", "nvidia_peermem", "nvidia_fs", "gdrdrv", "nvidia_uvm", "nvidia")
_ARCHIVE = "https://download.nvidia.com/XFree86/Linux-x86_64/"


def reload_module(facts: Facts) -> Fix:
    """Unload the old module and load the one on disk, without a reboot."""
    loaded = facts.nvidia.kernel.modules
    names = [m for m in _ORDER if isinstance(loaded, Unknown) or m in loaded or m == "nvidia"]
    commands: Tasks = (
        USERS,
        as_root("rmmod", *names),
        as_root("modprobe", "nvidia"),
    )
    return Fix(
        "Without a reboot: stop every program that uses the GPU (the desktop too), then reload the module.",
        commands,
        "reload-module",
        root=True,
        verify=NVIDIA_SMI,
    )


def kernel_gone(facts: Facts) -> bool:
    """Whether an update removed the running kernel's modules: no module can be loaded or built for it."""
    return facts.host.kernel.modules is False and not in_container(facts)


def into_new_kernel(facts: Facts) -> Fix:
    """Reboot into the kernel that the update installed, on Debian with its headers where no kernel has a module yet."""
    others = facts.nvidia.kernel.other_kernels
    new = f" {others[-1].kernel}" if isinstance(others, tuple) and others else ""
    gone = "an update removed the modules of the running one, so no module can be loaded or built for it."
    newest = debian_driver.kernel_packages(facts) if facts.host.distribution.id == "debian" else ()
    if others != () or not known_or(facts.nvidia.kernel.dkms, None) or len(newest) < 2:
        return system.reboot(f"Reboot into the new kernel{new}: {gone}")
    message = f"Install the new kernel's headers, with which DKMS builds the module for it, then reboot: {gone}"
    commands = (as_root("apt-get", "update"), *system.install(facts, *newest), as_root("reboot"))
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI)


def node_reload(message: str) -> Fix:
    """For a container: its host's module has to be reloaded, and containers restarted."""
    return Fix(
        message,
        (as_root("reboot"),),
        "reboot",
        root=True,
        needs="restart of the containers",
        verify=NVIDIA_SMI,
        place="outside",
    )


def on_the_host(message: str, *tasks: Task) -> Fix:
    """What a container cannot fix: commands for its host."""
    action: Action | None = "reload-module" if tasks else None
    return Fix(message, tasks, action, root=True, needs="restart of the container", place="outside")


def loading(facts: Facts) -> tuple[Task, str | None, str]:
    """The command that brings a new module in, what it needs, and that in words: nouveau lets go of no GPU."""
    if owned_by(facts, "nouveau"):
        return as_root("reboot"), "reboot", "reboot, since nouveau has the GPU"
    return as_root("modprobe", "nvidia"), None, "load it"


def headers(facts: Facts) -> Tasks:
    """The command that installs the running kernel's headers; none where the package manager is not known.

    On Debian with those of later kernels, which nothing else brings: the next one would have no module again.
    """
    family = system.family_of(facts)
    if family is None:
        return ()
    later = debian_driver.kernel_packages(facts)[1:] if facts.host.distribution.id == "debian" else ()
    return system.install(facts, packages.headers_package(family, system.kernel_of(facts)), *later)


def module_packages(facts: Facts) -> tuple[str, ...]:
    """Names of the installed packages that contain or build the kernel module."""
    words = ("dkms", "kernel", "akmod", "kmod", "-kmp", "linux-modules-nvidia", "linux-objects-nvidia")
    return tuple(name for name in driver_packages(facts) if any(word in name for word in words))


def uses_akmods(facts: Facts) -> bool:
    """Whether akmods builds the module, as RPM Fusion's packages for Fedora do unless DKMS is installed."""
    if any("akmod" in name for name in driver_packages(facts)):
        return True
    by_dkms = facts.nvidia.kernel.dkms or unlisted(facts)
    return facts.host.distribution.id in ("fedora", "nobara") and not by_dkms


def build_commands(facts: Facts) -> Tasks:
    """The commands that build the installed driver's module for the running kernel; the headers come first."""
    kernel, family = system.kernel_of(facts), system.family_of(facts)
    if uses_akmods(facts):
        return (*headers(facts), as_root("akmods", "--force", "--kernels", kernel))
    if family == "suse":
        return (*headers(facts), *system.reinstall(facts, *module_packages(facts)))
    if family == "arch" and not facts.nvidia.kernel.dkms:
        return _arch_module(facts, kernel) or (*_headers_if_missing(facts), *_dkms(facts, kernel))
    return (*_headers_if_missing(facts), *_dkms(facts, kernel))


def _arch_module(facts: Facts, kernel: str) -> Tasks:
    """Without DKMS each kernel package has a module package of its own, and kernels other than `linux` need DKMS.

    A partial upgrade is not supported there, so the command upgrades everything.
    """
    manjaro = packages.manjaro_kernel(kernel)
    if manjaro:
        kinds = (re.match(r"linux\d+-(nvidia(?:-open)?)$", name) for name in driver_packages(facts))
        return system.install(facts, f"{manjaro}-{next((kind[1] for kind in kinds if kind), 'nvidia')}")
    if flavor_for(facts) == "proprietary":
        return ()  # for GPUs before Turing the module is in the AUR
    return (as_root("pacman", "-Syu", packages.headers_package("arch", kernel), "nvidia-open-dkms"),)


def _headers_if_missing(facts: Facts) -> Tasks:
    return () if facts.host.kernel.headers is True else headers(facts)


def unlisted(facts: Facts) -> tuple[str, ...]:
    """The sources of the installed libraries' release that DKMS does not list, and would add as it installs them."""
    version = library_version(facts)
    return tuple(one for one in facts.nvidia.kernel.dkms_unlisted if version and one.endswith(f"/{version}"))


def _dkms(facts: Facts, kernel: str) -> Tasks:
    entries = known_or(facts.nvidia.kernel.dkms, None) or ()
    named = dict.fromkeys(f"{e.module}/{e.version}" for e in entries if e.state != "broken") or unlisted(facts)
    if len(named) == 1:
        return (as_root("dkms", "install", next(iter(named)), "-k", kernel),)
    return (as_root("dkms", "autoinstall", "-k", kernel),)


def rebuild(facts: Facts, version: str | None) -> tuple[Fix, ...]:
    """Build the installed driver's module for the running kernel, with the tool that installed the driver."""
    kernel = system.kernel_of(facts)
    if kernel_gone(facts):
        return (into_new_kernel(facts),)
    if in_container(facts):
        return (on_the_host(f"On the host: build NVIDIA's module for kernel {kernel}; a container cannot."),)
    if runfile.uses_runfile(facts):
        return (_installer_again(facts, version, kernel), _boot_the_other(facts))
    if facts.nvidia.kernel.image_keys is not None:
        return new_deployment(facts) if "akmod-nvidia" in driver_packages(facts) else (_newer_image(kernel),)
    if system.family_of(facts) is None:
        return own_system.build(facts) or (_image(kernel),)
    if _signed_kmp(facts):
        return _newer_kmp(facts)
    if ready_kernel := _prebuilt_kernel(facts):
        return _other_kmod(facts, ready_kernel)
    last, needs, then = loading(facts)
    message = f"Build the module for kernel {kernel}, then {then}."
    commands = (*build_commands(facts), last)
    build = Fix(message, commands, "reinstall-package", root=True, needs=needs, verify=NVIDIA_SMI)
    ready = prebuilt.install(facts, version)
    if ready is None:
        return (build,)
    return (ready, *prebuilt.by_dkms(facts, version)) if prebuilt.uses(facts) else (build, ready)


def _prebuilt_kernel(facts: Facts) -> str | None:
    """The newest kernel with a prebuilt module (a kmod package) where nothing here builds any; None: another way."""
    others = facts.nvidia.kernel.other_kernels
    ready = any("kmod" in name and "akmod" not in name for name in driver_packages(facts))
    if not ready or facts.nvidia.kernel.dkms is not None or uses_akmods(facts) or system.family_of(facts) != "fedora":
        return None
    return others[-1].kernel if isinstance(others, tuple) and others else None


def _signed_kmp(facts: Facts) -> bool:
    """Whether SUSE's package has the module ready and signed; the others compile it while they are installed."""
    return system.family_of(facts) == "suse" and any("-signed-" in name for name in driver_packages(facts))


def _newer_kmp(facts: Facts) -> tuple[Fix, ...]:
    """https://en.opensuse.org/SDB:NVIDIA_drivers."""
    others = facts.nvidia.kernel.other_kernels
    message = f"Upgrade the driver's packages together, which brings the module for kernel {system.kernel_of(facts)}."
    commands = (*system.upgrade(facts, suse=("*nvidia*",)), as_root("modprobe", "nvidia"))
    newer = Fix(message, commands, "reinstall-package", root=True, verify=NVIDIA_SMI)
    if not isinstance(others, tuple) or not others:
        return (newer,)
    back = f"If there is none yet: boot kernel {others[-1].kernel}, for which there is a module."
    return newer, boot.into_kernel(facts, others[-1].kernel, back, NVIDIA_SMI)


def new_deployment(facts: Facts) -> tuple[Fix, ...]:
    """Where akmods is layered on an image, rpm-ostree builds the module while it makes a deployment, and nothing else.

    https://rpmfusion.org/Howto/NVIDIA
    """
    message = "Make a new deployment: rpm-ostree takes the newest kernel and builds the module for it. Then reboot."
    back = as_root("rpm-ostree", "rollback")
    commands = (*system.upgrade(facts), as_root("systemctl", "reboot"))
    new = Fix(message, commands, "reinstall-package", root=True, needs="reboot", undo=(back,), verify=NVIDIA_SMI)
    message = "If nothing is newer, or the build fails there too: go back to the deployment before this one."
    commands = (query("rpm-ostree", "status"), back, as_root("systemctl", "reboot"))
    return new, Fix(message, commands, "reboot", root=True, needs="reboot", undo=(back,), verify=NVIDIA_SMI)


def _other_kmod(facts: Facts, kernel: str) -> tuple[Fix, ...]:
    """A kernel is often released before the module for it."""
    back = boot.into_kernel(facts, kernel, f"Boot kernel {kernel}, for which there is a module.", NVIDIA_SMI)
    message = (
        f"Once the repository has a module for kernel {system.kernel_of(facts)}: upgrade the driver's packages "
        "together, then load it. Nothing builds it here; the package with -dkms in its name would, for each kernel."
    )
    commands = (*system.upgrade(facts, fedora=("*nvidia*",)), as_root("modprobe", "nvidia"))
    return back, Fix(message, commands, "reinstall-package", root=True, verify=NVIDIA_SMI)


def _installer_again(facts: Facts, version: str | None, kernel: str) -> Fix:
    message = (
        f"Run NVIDIA's .run installer of driver {version or 'your version'} again on kernel {kernel}; with --dkms "
        f"the module is rebuilt automatically for later kernels. Old installers: {_ARCHIVE}"
    )
    commands = (*_headers_if_missing(facts), *system.install(facts, "dkms"), *runfile.run_installer(facts, version))
    return Fix(message, commands, "reinstall-package", root=True, verify=NVIDIA_SMI)


def _boot_the_other(facts: Facts) -> Fix:
    others, there = facts.nvidia.kernel.other_kernels, known_or(facts.host.kernel.others, None)
    built = [one.kernel for one in others if there is None or one.kernel in there] if isinstance(others, tuple) else []
    name = built[-1] if built else "that it was built for, if it is still installed,"
    return Fix(f"Until then, boot the kernel {name} from the boot menu.", (), "reboot", needs="reboot")


def _newer_image(kernel: str) -> Fix:
    """Nothing is built on an image-based system (ostree, bootc): kernel and module come with the image."""
    message = f"Switch to an image with NVIDIA's module for its kernel (this one has none for {kernel}), and reboot."
    commands = (query("rpm-ostree", "status"), as_root("rpm-ostree", "upgrade"), as_root("systemctl", "reboot"))
    undo = (as_root("rpm-ostree", "rollback"),)
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", undo=undo, verify=NVIDIA_SMI)


def _image(kernel: str) -> Fix:
    return Fix(
        f"Install this distribution's image, extension or package with NVIDIA's module for kernel {kernel}.",
        (),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=NVIDIA_SMI,
    )


def finish_upgrade(facts: Facts, version: str) -> tuple[Fix, ...]:
    """Upgrade the module on disk to the libraries' version with the package manager, then reboot.

    Args:
        facts: the facts.
        version: the libraries' version.
    """
    family, proof = system.family_of(facts), query("modinfo", "-F", "version", module_name(facts))
    if runfile.uses_runfile(facts):
        return (runfile.installer_for(facts, version),)
    back = _back_to_module(facts, version)
    if family is None or system.is_image(facts):
        return (_build_system(facts, version), *back)
    message = (
        f"Finish the upgrade so that the kernel module becomes {version} too. Reboot only when modinfo reports "
        f"{version}: before that a reboot loads the old module again."
    )
    commands = (*_finish(facts, family), proof)
    return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=proof), *back)


def _back_to_module(facts: Facts, version: str) -> tuple[Fix, ...]:
    """The way back, where the repository has no such module yet (NVIDIA/open-gpu-kernel-modules#1000)."""
    disk = known_or(disk_version(facts), None)
    tasks = _libraries_of(facts, version, disk) if disk else ()
    if not disk or not tasks:
        return ()
    message = f"If no module {version} can be installed yet: install the libraries of the module's release {disk}"
    if system.is_image(facts):  # ublue-os/bazzite#2668
        message = "If the newest image has the same fault: go back to the image before this one"
    return (Fix(f"{message}, then reboot.", tasks, "reinstall-package", root=True, needs="reboot", verify=NVIDIA_SMI),)


def _build_system(facts: Facts, version: str) -> Fix:
    """Module and libraries come together with the next boot; until then modinfo shows the old module."""
    message = f"Upgrade the distribution's package of the module to {version}, then reboot."
    commands: Tasks = ()
    undo: Tasks = ()
    if nixos.is_nixos(facts):
        message = f"Rebuild the system, so that its module is {version} too, then reboot."
        commands, undo = (as_root("nixos-rebuild", "boot"), as_root("reboot")), nixos.back("boot")
    elif system.is_image(facts):
        message = f"Upgrade the image, so that its module is {version} too, then reboot."
        commands, undo = (*system.upgrade(facts), as_root("reboot")), (as_root("rpm-ostree", "rollback"),)
    return Fix(message, commands, "reinstall-package", root=True, needs="reboot", undo=undo, verify=NVIDIA_SMI)


def older_libraries(facts: Facts, user: str, source: str) -> tuple[Fix, ...]:
    """Go back to the version of the module's source, or on to a release of which the package is right.

    Args:
        facts: the facts.
        user: the libraries' version.
        source: the version of the source that DKMS builds.
    """
    message = f"Go back to driver {source}, whose module DKMS builds, then reboot."
    verify, back = query("nvidia-smi"), _libraries_of(facts, user, source)
    first = Fix(message, back, "reinstall-package", root=True, needs="reboot", verify=verify)
    message = f"Upgrade, once the repository has a driver newer than {user} with the right source, then reboot."
    newer = system.upgrade(facts, debian=packages_of_release(facts, user), fedora=("*nvidia*",), suse=("*nvidia*",))
    return (first, Fix(message, newer, "reinstall-package", root=True, needs="reboot", verify=verify))


def _libraries_of(facts: Facts, user: str, wanted: str) -> Tasks:
    """Replace the libraries' packages by those of another release, and reboot; none where a reboot is all there is."""
    family, names = system.family_of(facts), packages_of_release(facts, user)
    back: Tasks = ()
    if system.is_image(facts):
        back = (query("rpm-ostree", "status"), as_root("rpm-ostree", "rollback"))
    elif names and family == "fedora":
        program = "yum" if system.has_yum_only(facts) else "dnf"
        back = (as_root(program, "downgrade", *(f"{name}-{wanted}" for name in names)),)
    elif names and family == "debian":
        back = (as_root("apt-get", "install", "--allow-downgrades", *(f"{name}={wanted}*" for name in names)),)
    elif names and family == "suse":
        back = (as_root("zypper", "install", "--oldpackage", *(f"{name}={wanted}" for name in names)),)
    return (*back, as_root("reboot")) if back else ()


def _finish(facts: Facts, family: packages.Family) -> Tasks:
    names = module_packages(facts)
    if family == "debian":
        again = (packages.install_command(family, names),) if names else ()
        held = held_packages(facts)
        first = (
            *((as_root("apt-mark", "unhold", *held),) if held else ()),
            as_root("dpkg", "--configure", "-a"),
            as_root("apt-get", "update"),
            as_root("apt-get", "--fix-broken", "install"),
        )
        return (*first, *again, *_build(facts))
    if family == "fedora":
        return (as_root("dnf", "distro-sync", "*nvidia*", "cuda-drivers*"), *_build(facts))
    return system.upgrade(facts, suse=("*nvidia*",))


def _build(facts: Facts) -> Tasks:
    kernel = system.kernel_of(facts)
    if uses_akmods(facts):
        return (as_root("akmods", "--force", "--kernels", kernel),)
    return (as_root("dkms", "autoinstall", "-k", kernel),) if facts.nvidia.kernel.dkms else ()


def hang_fixes(facts: Facts) -> tuple[Fix, ...]:
    """What ends a call into the driver that never returns."""
    if in_container(facts):
        message = "On the host: look at the last Xid and NVRM lines, then reboot it."
        return (
            on_the_host(message, filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|Xid"), query("tail"))),
        )
    look = Fix(
        "Find the cause: programs in uninterruptible sleep (D), and the driver's last messages.",
        (
            filtered(query("ps", "-eo", "pid,stat,wchan:32,cmd"), query("awk", "$2 ~ /^D/")),
            filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|Xid"), query("tail")),
        ),
        impact="none",
    )
    again = system.reboot("Reboot: a call that hangs in the kernel cannot be ended in any other way.")
    return (look, again)
