"""Ubuntu's prebuilt, signed kernel modules of NVIDIA's driver, one package per kernel."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.queries.cards import owned_by
from gpudoctor.queries.driver import first_module
from gpudoctor.tasks import Tasks, as_root, query

_NAME = ("linux-modules-nvidia-", "linux-objects-nvidia-")


def uses(facts: Facts) -> bool:
    """Whether the driver's modules are prebuilt and nothing here builds any: neither DKMS nor its package."""
    kernel, names = facts.nvidia.kernel, system.driver_packages(facts)
    if kernel.dkms and not isinstance(kernel.dkms, Unknown):
        return False
    others = kernel.other_kernels if isinstance(kernel.other_kernels, tuple) else ()
    ready = any(n.startswith(_NAME) for n in names) or any("/kernel/nvidia-" in m.path for m in others)
    return ready and not any(n.startswith("nvidia-dkms") for n in names)


def has_ubuntus_packages(facts: Facts) -> bool:
    """Whether this distribution has Ubuntu's kernels and packages: Ubuntu itself, Mint and the like."""
    return packages.has_ubuntus_packages(known_or(facts.host.distribution.id, ""))


def install(facts: Facts, version: str | None) -> Fix | None:
    """Install the running kernel's package and the one that follows later kernels; None where it is not Ubuntu's.

    What DKMS built goes at the same time: depmod prefers the directory updates, where DKMS puts it, to kernel
    (https://manpages.ubuntu.com/manpages/noble/man5/depmod.d.5.html), so modprobe would load that again. The package
    that follows kernels provides nvidia-dkms-..., which the driver's package depends on.

    Args:
        facts: the machine.
        version: the driver's version, which gives the branch.
    """
    kernel = system.kernel_of(facts)
    if not version or not has_ubuntus_packages(facts) or not _is_ubuntus(kernel):
        return None
    branch = _branch(facts, version)
    follows = following(facts, branch)
    names = (f"linux-modules-nvidia-{branch}-{kernel}", *((follows,) if follows else ()))
    dropped, removed = _without_dkms(facts, kernel, follows is not None)
    bound = bool(owned_by(facts, "nouveau"))  # as of module.loading, which imports this
    message = "Install Ubuntu's prebuilt, signed module for this kernel"
    message += ", with the package that pulls it in for later kernels" if follows else ""
    message += ", in place of the one that DKMS built, which modprobe would prefer" if dropped or removed else ""
    message += ", then reboot." if bound else ", then load it."
    last = as_root("reboot") if bound else as_root("modprobe", "nvidia")
    commands = (as_root("apt-get", "update"), *system.install(facts, *names, *dropped), *removed, last)
    needs = "reboot" if bound else None
    return Fix(message, commands, "reinstall-package", root=True, needs=needs, verify=query("nvidia-smi"))


def following(facts: Facts, branch: str) -> str | None:
    """The package that has the signed modules of a branch ("580-open") for this and later kernels; None: unknown."""
    kernel = system.kernel_of(facts)
    if not has_ubuntus_packages(facts) or not _is_ubuntus(kernel):
        return None
    follows = _follows(facts, kernel)
    return f"linux-modules-nvidia-{branch}-{follows}" if follows else None


def _without_dkms(facts: Facts, kernel: str, replaced: bool) -> tuple[tuple[str, ...], Tasks]:
    """What apt removes in the same command ("package-"), and the commands that remove a module of DKMS alone."""
    if first_module(facts) is None:
        return (), ()  # none of DKMS's is in the way
    built = remove_built(facts, kernel)
    here = system.driver_packages(facts)
    names = tuple(f"{name}-" for name in here if name.startswith("nvidia-dkms-"))
    if not names or not replaced:
        return (), built
    # Named, the driver stays: where nothing can replace DKMS's package, apt then refuses instead of removing both.
    driver = tuple(name for name in here if name.startswith("nvidia-driver-") and ":" not in name)
    return (*driver, *names), ()


def remove_built(facts: Facts, kernel: str) -> Tasks:
    """The commands that remove what DKMS built for a kernel: `dkms install` skips what is already there."""
    entries = facts.nvidia.kernel.dkms if isinstance(facts.nvidia.kernel.dkms, tuple) else ()
    built = (one for one in entries if one.kernel == kernel)
    return tuple(as_root("dkms", "remove", f"{one.module}/{one.version}", "-k", kernel) for one in built)


def by_dkms(facts: Facts, version: str | None) -> tuple[Fix, ...]:
    """Let DKMS build the module where Ubuntu has no prebuilt one for a kernel."""
    family = system.family_of(facts)
    if family is None or not version:
        return ()
    headers = packages.headers_package(family, system.kernel_of(facts))
    commands = (
        *system.install(facts, headers, f"nvidia-dkms-{_branch(facts, version)}"),
        as_root("modprobe", "nvidia"),
    )
    message = "If there is no such package for this kernel: let DKMS build the module, for this and later kernels."
    if facts.host.kernel.secure_boot is True:
        message += " With Secure Boot its key (MOK) has to be enrolled, which the installation asks for."
    return (Fix(message, commands, "reinstall-package", root=True, verify=query("nvidia-smi")),)


def _is_ubuntus(kernel: str) -> bool:
    """Whether a kernel is one of Ubuntu's, by its name: "6.8.0-60-generic", and not "5.19.2-surface"."""
    parts = kernel.split("-")
    return len(parts) >= 3 and parts[1].isdigit() and parts[0].endswith(".0")


def _branch(facts: Facts, version: str) -> str:
    """The part between linux-modules-nvidia- and the kernel: 550, 570-open, 535-server."""
    names = system.driver_packages(facts)
    server = "-server" if any("-server" in name for name in names) else ""
    flavor = "-open" if any("-open" in name for name in names) else ""
    return f"{version.split('.')[0]}{server}{flavor}"


def _follows(facts: Facts, kernel: str) -> str | None:
    """The end of the meta package's name: generic, generic-hwe-24.04; None where it is not known."""
    flavor, own = kernel.rpartition("-")[2], facts.host.distribution
    release = packages.ubuntu_release(known_or(own.id, ""), known_or(own.version, None) or "")
    first = packages.ubuntu_kernel(release) if release else None
    if flavor != "generic" or release is None or first is None:
        return None
    return flavor if kernel.startswith(f"{first}.") else f"{flavor}-hwe-{release}"
