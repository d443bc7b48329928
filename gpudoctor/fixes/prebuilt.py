"""Ubuntu's prebuilt, signed kernel modules of NVIDIA's driver, one package per kernel."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.knowledge import packages
from gpudoctor.maybe import Unknown
from gpudoctor.tasks import as_root, query

_NAME = ("linux-modules-nvidia-", "linux-objects-nvidia-")


def uses(facts: Facts) -> bool:
    """Whether the driver's modules are prebuilt and nothing here builds any: neither DKMS nor its package."""
    kernel, names = facts.nvidia.kernel, system.driver_packages(facts)
    if kernel.dkms and not isinstance(kernel.dkms, Unknown):
        return False
    others = kernel.other_kernels if isinstance(kernel.other_kernels, tuple) else ()
    ready = any(n.startswith(_NAME) for n in names) or any("/kernel/nvidia-" in m.path for m in others)
    return ready and not any(n.startswith("nvidia-dkms") for n in names)


def install(facts: Facts, version: str | None) -> Fix | None:
    """Install the running kernel's package and the one that follows later kernels; None where it is not Ubuntu.

    Args:
        facts: the machine.
        version: the driver's version, which gives the branch.
    """
    kernel = system.kernel_of(facts)
    if facts.host.distribution.id != "ubuntu" or not version or not _is_ubuntus(kernel):
        return None
    stem = f"linux-modules-nvidia-{_branch(facts, version)}"
    follows = _follows(facts, kernel)
    names = (f"{stem}-{kernel}", *((f"{stem}-{follows}",) if follows else ()))
    message = "Install Ubuntu's prebuilt, signed module for this kernel"
    message += ", with the package that pulls it in for later kernels, then load it." if follows else ", then load it."
    commands = (as_root("apt-get", "update"), *system.install(facts, *names), as_root("modprobe", "nvidia"))
    return Fix(message, commands, "reinstall-package", root=True, verify=query("nvidia-smi"))


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
    flavor, release = kernel.rpartition("-")[2], facts.host.distribution.version
    first = packages.ubuntu_kernel(release) if isinstance(release, str) else None
    if flavor != "generic" or first is None or not isinstance(release, str):
        return None
    return flavor if kernel.startswith(f"{first}.") else f"{flavor}-hwe-{release}"
