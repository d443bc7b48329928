"""Kernel, its modules and the driver's module from one build: the packages of the running kernel."""

from gpudoctor.check_engine import Fix
from gpudoctor.digits import numbers_in
from gpudoctor.facts import Facts
from gpudoctor.fixes import module, system
from gpudoctor.fixes.boot import into_kernel
from gpudoctor.fixes.hold import hold_kernel
from gpudoctor.knowledge import packages
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.maybe import known_or
from gpudoctor.queries.known_bugs import kernel_without, running_kernel
from gpudoctor.queries.module_refusals import Unprovided, lacks_extra_modules
from gpudoctor.targets import gpus_of, in_container
from gpudoctor.tasks import Edit, Shell, Task, Tasks, as_root, query
from gpudoctor.tasks.as_typed import quoted

# Packages of Debian's, Fedora's and SUSE's kernels; those of Ubuntu and its derivatives have modules of their own.
_NAMES = {
    "debian": ("linux-image-{}",),
    "fedora": ("kernel-core-{}", "kernel-modules-core-{}", "kernel-modules-{}"),
    "suse": ("kernel-{flavor}",),
}


def reinstall_kernel(facts: Facts, verify: Task) -> tuple[Fix, ...]:
    """Reinstall image and modules of the running kernel, so that they are of one build; or boot the one before.

    Args:
        facts: the machine.
        verify: the command that shows that the driver is loaded.
    """
    again = system.reinstall(facts, *_names(facts))
    message = "Reinstall the running kernel's image and modules, so that they are of one build, then reboot."
    commands: Tasks = (*again, *system.initramfs(facts), as_root("reboot")) if again else ()
    older = "Until then, or if it does not help: boot the previous kernel from the boot menu."
    return (
        Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=verify),
        Fix(older, (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=verify),
    )


def build_again(facts: Facts, verify: Task) -> tuple[Fix, ...]:
    """Build NVIDIA's module again for the running kernel, with headers of the same build as its image.

    DKMS keeps what it has built for a release, and does not see that another build of that release was installed.

    Args:
        facts: the machine.
        verify: the command that shows that the driver is loaded.
    """
    family, kernel = system.family_of(facts), system.kernel_of(facts)
    named = module.module_packages(facts)
    if family is None or not named or system.is_image(facts):
        return module.rebuild(facts, None)
    headers = packages.headers_package(family, kernel)
    message = (
        f"Reinstall kernel {kernel} and its headers, so that they are of one build, then the driver's module, which "
        "builds it again. For a kernel that you built yourself: build the module against that kernel's tree."
    )
    commands = (*system.reinstall(facts, *_names(facts), headers), *system.reinstall(facts, *named), as_root("reboot"))
    return (Fix(message, commands, "reinstall-package", root=True, needs="reboot", verify=verify),)


def extra_modules(facts: Facts, name: str, verify: Task) -> Fix:
    """Install the kernel's other modules, which Ubuntu leaves out of cloud kernels.

    Args:
        facts: the machine.
        name: the module that needs them, and that is loaded then.
        verify: the command that shows that it is.
    """
    message = f"Install the other modules of this kernel, then load {name}."
    extra = system.install(facts, packages.extra_modules_package(system.kernel_of(facts)))
    return Fix(message, (*extra, as_root("modprobe", name)), "reinstall-package", root=True, verify=verify)


def newer_kernel(facts: Facts, message: str, verify: Task) -> Fix:
    """Install the distribution's newest kernel; for AMD's integrated GPUs the one that AMD's guide for Ryzen names.

    Args:
        facts: the machine.
        message: which kernel, and why.
        verify: the command that shows that it helped.
    """
    if in_container(facts):
        there = f"On the host: {message[0].lower()}{message[1:]} Then reboot."
        return Fix(there, (), "reinstall-package", root=True, needs="reboot", verify=verify, place="outside")
    commands = newest_kernel(facts)
    reboot = (as_root("reboot"),) if commands else ()
    return Fix(
        f"{message} Then reboot.",
        (*commands, *reboot),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=verify,
    )


def newest_kernel(facts: Facts) -> Tasks:
    """The commands that install the kernel of `newer_kernel`; none where they are not known."""
    own, flavor = facts.host.distribution, system.kernel_of(facts).rpartition("-")[2]
    ryzen = flavor == "oem" or any(gpu.integrated is True for gpu in gpus_of(facts, "amd"))
    name = ""
    if own.id == "ubuntu" and isinstance(own.version, str) and packages.ubuntu_kernel(own.version):
        if ryzen and own.version == "24.04":
            name = "linux-oem-24.04c"
        elif flavor in ("generic", "lowlatency"):  # a cloud's kernel has no other series
            name = f"linux-{flavor}-hwe-{own.version}"
    if name:
        return (as_root("apt-get", "update"), *system.install(facts, name))
    return system.upgrade(facts, fedora=("kernel*",), suse=("kernel-default",))


def with_module(facts: Facts, user: str, path: str) -> tuple[Fix, ...]:
    """Another kernel, or a module of akmods, where the running kernel's package brings an older module.

    Args:
        facts: the machine.
        user: the libraries' version.
        path: of the module that the kernel's package brought.
    """
    verify = query("modinfo", "-F", "version", "nvidia")
    newer = newer_kernel(facts, f"Upgrade the kernel to a release whose package brings module {user}.", verify)
    message = "Until then: boot kernel {}, which has a module of its own; the command shows its version."
    boot = tuple(
        into_kernel(facts, one.kernel, message.format(one.kernel), query("modinfo", "-F", "version", one.path))
        for one in known_or(facts.nvidia.kernel.other_kernels, ())[-1:]
    )
    if system.family_of(facts) != "fedora" or system.is_image(facts) or not module.uses_akmods(facts):
        return (newer, *boot)
    without = Fix(
        "If a package of its own brings the kernel's module (kernel-...-nvidia-open), remove that one, so that "
        "akmods builds the module of the libraries' version, then reboot. The command finds no package if the module "
        "is part of the kernel's.",
        (
            Shell(f"dnf remove \"$(rpm -qf --qf '%{{NAME}}\\n' {quoted(path)} | grep nvidia)\"", root=True),
            as_root("akmods", "--force", "--kernels", system.kernel_of(facts)),
            as_root("reboot"),
        ),
        "reinstall-package",
        root=True,
        needs="reboot",
        verify=verify,
    )
    return (newer, *boot, without)


def without_bug(facts: Facts, bug: Regression, verify: Task) -> tuple[Fix, ...]:
    """Boot a kernel that does not have a known bug: an installed one, or a newer one; and stay on it.

    Args:
        facts: the machine.
        bug: of the running kernel, or of something that shows it with this kernel alone.
        verify: the command that shows that it helped.
    """
    own, there = bug.component == "kernel", kernel_without(facts, bug)
    newer = newer_kernel(facts, f"Install kernel {bug.fixed} or newer, which does not have the bug.", verify)
    fixed = (newer,) if own and bug.fixed else ()
    older = bug.good if own else f"older than {bug.kernels.removesuffix('-')}"
    if not older and (there is None or in_container(facts)):
        return fixed
    if in_container(facts):
        message = f"On the host: boot kernel {older}."
        return (*fixed, Fix(message, (), "reboot", root=True, needs="reboot", verify=verify, place="outside"))
    if there is None:
        message = f"Go back to kernel {older}: the distribution's archive has older packages. Then reboot."
        return (*fixed, Fix(message, _older(facts), "reinstall-package", root=True, needs="reboot", verify=verify))
    message = f"Boot kernel {there}, which is installed and does not have the bug."
    return (into_kernel(facts, there, message, verify), *fixed, *hold_kernel(facts))


def _older(facts: Facts) -> Tasks:
    """The command that lists the kernels that can be installed."""
    listed: dict[str, Tasks] = {
        "debian": (query("apt-cache", "search", "^linux-image-[0-9]"),),
        "fedora": (query("dnf", "list", "--showduplicates", "kernel-core"),),
        "suse": (query("zypper", "search", "--details", "kernel-default"),),
        "arch": (Shell("ls -t /var/cache/pacman/pkg/linux*", lookup=True),),
    }
    return listed.get(system.family_of(facts) or "", ())


def before_update(facts: Facts, verify: Task) -> tuple[Fix, ...]:
    """Boot the installed kernel before this one, where what is wrong may have begun with an update; none without one.

    Args:
        facts: the machine.
        verify: the command that shows that it helped.
    """
    running = running_kernel(facts)
    if not running or in_container(facts):
        return ()
    older = (name for name in known_or(facts.host.kernel.others, ()) if numbers_in(name) < numbers_in(running))
    before = max(older, key=numbers_in, default=None)
    if before is None:
        return ()
    message = f"If it began with an update to kernel {running}: boot {before}, which is installed."
    return (into_kernel(facts, before, message, verify),)


def load_provider(facts: Facts, missing: Unprovided, modules: tuple[str, ...], verify: Task) -> tuple[Fix, ...]:
    """Load the kernel's own module whose symbols a driver's module needs, now and at every boot.

    Args:
        facts: the machine.
        missing: what the kernel's log shows.
        modules: those of the driver, which are loaded then.
        verify: the command that shows that they are.
    """
    path = f"/etc/modules-load.d/{missing.provider}.conf"
    load = Fix(
        f"Load the kernel's module {missing.provider}, also at every boot, then the driver's modules. A driver "
        "container (GPU Operator) loads them itself: recreate its pod.",
        (
            as_root("modprobe", missing.provider),
            Edit(path, text=f"{missing.provider}\n", root=True),
            as_root("modprobe", "-a", *modules),
        ),
        "reload-module",
        root=True,
        impact="persistent",
        undo=(Edit(path, gone=True, root=True),),
        verify=verify,
    )
    family, kernel = system.family_of(facts), system.kernel_of(facts)
    if facts.host.distribution.id == "ubuntu":
        package = packages.extra_modules_package(kernel)
    elif family == "fedora":
        package = f"kernel-modules-{kernel}"
    else:
        return (load,)
    message = f"If modprobe does not find {missing.provider}: install the running kernel's other modules, then repeat."
    return (load, Fix(message, system.install(facts, package), "reinstall-package", root=True, verify=verify))


def _names(facts: Facts) -> tuple[str, ...]:
    family, kernel = system.family_of(facts), system.kernel_of(facts)
    if family == "arch":
        return (packages.headers_package("arch", kernel).removesuffix("-headers"),)
    names = tuple(name.format(kernel, flavor=kernel.rpartition("-")[2]) for name in _NAMES.get(family or "", ()))
    if family != "debian" or facts.host.distribution.id == "debian":
        return names
    has_extra = facts.host.distribution.id == "ubuntu" and not lacks_extra_modules(facts)
    return (*names, f"linux-modules-{kernel}", *([packages.extra_modules_package(kernel)] if has_extra else []))
