"""What the packages of each distribution are called, and the commands that install them."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.tasks import Command, Placeholder, as_root
from gpudoctor.tasks.placeholders import KERNEL, VERSION

Family = Literal["debian", "fedora", "suse", "arch"]
Flavour = Literal["open", "proprietary"]


class Manager(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commands of a family's package manager, and its names for common packages."""

    ids: tuple[str, ...]
    refresh: str
    install: str
    reinstall: str
    remove: str
    headers: str
    compiler: tuple[str, ...]
    python_headers: str
    dkms: str
    container_toolkit: str
    firmware_amd: str
    cuda_toolkit: str
    fabric_manager: str | None = None


class DriverRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The NVIDIA driver packages of some distributions, for a range of branches."""

    family: Family
    flavor: Flavour
    names: tuple[str, ...]
    distros: tuple[str, ...] = ()
    lowest: int = 0
    highest: int = 99999
    origin: str = "distribution"
    before: tuple[str, ...] = ()
    dkms: str = ""
    prebuilt: str = ""


class HeadersRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The package with the headers of kernels (a regular expression) that have names of their own."""

    family: Family
    kernel: str
    package: str


class Packages(KnowledgeTable, frozen=True):
    """The table ``packages.toml``."""

    family: dict[Family, Manager]
    headers: tuple[HeadersRow, ...]
    driver: tuple[DriverRow, ...]
    ubuntu_kernel: dict[str, str]
    ubuntu_release: dict[str, dict[str, str]]
    newest_branch: dict[str, int]
    proprietary_first: dict[str, tuple[str, ...]]
    unstable_branches: dict[str, tuple[int, ...]]
    smi: dict[str, str]
    debian_kernel: dict[str, str]


class DriverPackages(msgspec.Struct, frozen=True):
    """The packages of an NVIDIA driver.

    names: what to install. dkms: the package that builds the module for the running kernel, or None.
    prebuilt: the package with a signed module for this kernel, or None. before: what comes first.
    origin: "distribution", "RPM Fusion", "NVIDIA" or "AUR"; packages of the AUR are not installed by pacman.
    """

    names: tuple[str, ...]
    origin: str
    before: tuple[Command, ...] = ()
    dkms: str | None = None
    prebuilt: str | None = None


@cache
def packages() -> Packages:
    """Return the table, read once."""
    return load("packages", Packages)


def family(distro_id: str, like: Sequence[str] = ()) -> Family | None:
    """Return the family of a distribution, from ID and ID_LIKE of its os-release, or None."""
    for name in (distro_id, *like):
        for key, manager in packages().family.items():
            if name.lower() in manager.ids:
                return key
    return None


def install_command(of: Family, names: Sequence[str]) -> Command:
    """Return the command that installs these packages."""
    return _command(packages().family[of].install, names)


def reinstall_command(of: Family, names: Sequence[str]) -> Command:
    """Return the command that installs these packages again over themselves."""
    return _command(packages().family[of].reinstall, names)


def remove_command(of: Family, names: Sequence[str]) -> Command:
    """Return the command that removes these packages with their configuration."""
    return _command(packages().family[of].remove, names)


def refresh_command(of: Family) -> Command:
    """Return the command that reads the repositories' lists of packages again."""
    return _command(packages().family[of].refresh, ())


def finish_commands() -> tuple[Command, Command]:
    """Return what ends an installation that dpkg began: dpkg(1) by itself, then apt-get(8) with what it lacked."""
    return as_root("dpkg", "--configure", "-a"), as_root("apt-get", "--fix-broken", "install")


def driver_packages(
    of: Family, distro_id: str, branch: int, flavor: Flavour, kernel: str | None = None, origin: str | None = None
) -> DriverPackages | None:
    """Return the packages of an NVIDIA driver, or None where this distribution has none for the branch.

    Args:
        of: the family of the distribution.
        distro_id: ID of os-release.
        branch: driver branch, 580. Families with one branch at a time give the nearest that they have.
        flavor: "open" or "proprietary" kernel modules; from branch 590 most have only open ones.
        kernel: release of the running kernel, for a module that is already built for it.
        origin: a repository that replaces the usual one, where the table has packages of it.
    """
    rows = [r for r in packages().driver if _fits(r, of, distro_id.lower(), branch, flavor)]
    usual = [r for r in rows if r.origin != "negativo17"]
    found = next(iter([r for r in rows if origin and r.origin == origin] or usual), None)
    if found is None:
        return None
    words = {"branch": branch, "kernel": kernel or KERNEL.name}
    return DriverPackages(
        names=tuple(name.format(**words) for name in found.names),
        origin=found.origin,
        before=tuple(as_root(*command.format(**words).split()) for command in found.before),
        dkms=found.dkms.format(**words) or None,
        prebuilt=found.prebuilt.format(**words) or None,
    )


def ubuntu_kernel(release: str) -> str | None:
    """Return the kernel with which a release of Ubuntu ("24.04") began ("6.8"); newer ones are of its HWE stack."""
    return packages().ubuntu_kernel.get(release)


def has_ubuntus_packages(distro_id: str) -> bool:
    """Whether a distribution has the kernels and packages of Ubuntu: itself, Mint and the like.

    Args:
        distro_id: ID of os-release.
    """
    return distro_id == "ubuntu" or distro_id in packages().ubuntu_release


def ubuntu_release(distro_id: str, release: str) -> str | None:
    """Return the release of Ubuntu whose packages a distribution has; None where it is not known.

    Args:
        distro_id: ID of os-release ("linuxmint").
        release: VERSION_ID of os-release ("22.2").
    """
    if distro_id == "ubuntu":
        return release
    return packages().ubuntu_release.get(distro_id, {}).get(release.partition(".")[0])


def newest_branch(distro_id: str, release: str) -> int | None:
    """Return the newest driver branch among a release's own packages, where it is older than what we advise.

    Args:
        distro_id: ID of os-release.
        release: VERSION_ID of os-release ("11", "18.04").
    """
    return packages().newest_branch.get(f"{distro_id.lower()} {release}")


def extra_modules_package(kernel: str) -> str:
    """Return Ubuntu's package with the modules of a kernel ("6.8.0-60-generic") that its cloud kernels leave out."""
    return f"linux-modules-extra-{kernel}"


def proprietary_first(distro_id: str) -> bool:
    """Whether a distribution's own driver package takes the proprietary modules unless others are chosen."""
    return distro_id in packages().proprietary_first["ids"]


def in_unstable(distro_id: str, release: str, branch: int) -> bool:
    """Whether Debian's unstable has packages of a branch that this release's archive has not, and that fit it.

    Args:
        distro_id: ID of os-release.
        release: VERSION_ID of os-release ("13").
        branch: driver branch, 470.
    """
    return branch in packages().unstable_branches.get(f"{distro_id.lower()} {release}", ())


def is_familys_kernel(of: Family, kernel: str) -> bool:
    """Whether a kernel is the family's own, by its name: its headers are not called otherwise."""
    return not any(row.family == of and re.fullmatch(row.kernel, kernel) for row in packages().headers)


def headers_package(of: Family, kernel: str) -> str:
    """Return the package with the headers of the kernel of this release ("6.8.0-31-generic")."""
    for row in packages().headers:
        if row.family == of and (found := re.fullmatch(row.kernel, kernel)):
            return row.package.format(kernel=kernel, **found.groupdict())
    if of == "arch":
        return _arch_headers(kernel)
    if kernel.endswith("-pve"):
        # Proxmox VE; renamed in https://lists.proxmox.com/pipermail/pve-devel/2023-July/058197.html
        major, minor = (int(part) for part in kernel.split("-")[0].split(".")[:2])
        return f"{'proxmox' if (major, minor) >= (6, 5) else 'pve'}-headers-{kernel}"
    return packages().family[of].headers.format(kernel=kernel, flavor=kernel.rpartition("-")[2])


def compiler_packages(of: Family) -> tuple[str, ...]:
    """Return the packages with a C and C++ compiler and make."""
    return packages().family[of].compiler


def python_headers_package(of: Family, python: str) -> str:
    """Return the package with Python.h for the distribution's own Python ("3.12")."""
    text = ".".join(python.split(".")[:2])
    return packages().family[of].python_headers.format(python=text, py=text.replace(".", ""))


def container_toolkit_package(of: Family) -> str:
    """Return the package of the NVIDIA Container Toolkit."""
    return packages().family[of].container_toolkit


def fabric_manager_package(of: Family, branch: int) -> str | None:
    """Return the package of the fabric manager, which must be of the driver's exact version, or None."""
    name = packages().family[of].fabric_manager
    return name.format(branch=branch) if name else None


def smi_packages(installed: Sequence[str]) -> tuple[str, ...]:
    """Return the packages with nvidia-smi that belong to the installed driver's, the newest branch first.

    Packages of several branches remain after an upgrade.
    """
    rows = packages().smi.items()
    found = {
        name.format(*match.groups())
        for pattern, name in rows
        for one in installed
        if (match := re.fullmatch(pattern, one))
    }
    return tuple(sorted(found, reverse=True))


def cuda_toolkit_package(of: Family, cuda: str) -> str:
    """Return the package with the CUDA toolkit of this version ("12.8"), from NVIDIA's repository."""
    major, _, minor = cuda.partition(".")
    return packages().family[of].cuda_toolkit.format(major=major, minor=minor.partition(".")[0] or "0")


def amd_firmware_package(of: Family, distro_id: str = "") -> str:
    """Return the package with the firmware of AMD GPUs; Ubuntu and its relatives have one for all devices."""
    if of == "debian" and distro_id.lower() not in ("debian", "kali", "devuan", "raspbian", ""):
        return "linux-firmware"
    return packages().family[of].firmware_amd


def _command(template: str, names: Sequence[str]) -> Command:
    """The words of a command are apart by blanks; {names} stands for as many words as there are names."""
    words = (names if word == "{names}" else (word,) for word in template.split())
    return as_root(*(word for some in words for word in some), placeholders=blanks_in(*names))


def blanks_in(*names: str) -> tuple[Placeholder, ...]:
    """Return what the user fills in of packages' names, where the kernel's release or a version is not known."""
    return tuple(blank for blank in (KERNEL, VERSION) if any(blank.name in name for name in names))


def _fits(row: DriverRow, of: Family, distro_id: str, branch: int, flavor: Flavour) -> bool:
    return (
        (row.family, row.flavor) == (of, flavor)
        and (not row.distros or distro_id in row.distros)
        and row.lowest <= branch <= row.highest
    )


def manjaro_kernel(kernel: str) -> str | None:
    """Return the package of Manjaro's kernel of a release: "linux612" of "6.12.4-1-MANJARO"; None: it is none.

    Each has packages of modules of its own: linux612-nvidia, linux612-headers
    (https://wiki.manjaro.org/index.php/Manjaro_Kernels).
    """
    if not kernel.endswith("MANJARO") or kernel.count(".") < 1:
        return None
    major, minor = kernel.split(".")[:2]
    return f"linux{major}{minor}"


def _arch_headers(kernel: str) -> str:
    """Arch names headers after the kernel package, whose name ends the release: "6.12.1-1-lts"."""
    if manjaro_kernel(kernel):
        return f"{manjaro_kernel(kernel)}-headers"
    last = kernel.rpartition("-")[2]
    special = "" if last.startswith("arch") or last.isdigit() or "." in last else last
    found = special or next((w for w in ("zen", "hardened") if w in kernel), "")
    return f"linux-{found}-headers" if found else "linux-headers"


_DEBIAN_KERNEL = re.compile(r"-((?:cloud-|rt-)?(?:amd64|arm64))$")


def is_debian_kernel(release: str) -> bool:
    """Whether a kernel is one of Debian's own: "6.1.0-32-cloud-amd64"."""
    return _DEBIAN_KERNEL.search(release) is not None


def debian_kernel(release: str, debian: str) -> tuple[str, ...]:
    """Headers for DKMS, with the kernel that they are of: the newest of its kind, which the reboot starts.

    "6.12.43+deb13-cloud-amd64" is of linux-image-cloud-amd64 (https://packages.debian.org/linux-headers-amd64). Of a
    kernel of another series than the release's own, such as one from backports, it is the headers of just that one.

    Args:
        release: of the kernel.
        debian: the release of Debian, "12"; empty: any.
    """
    found, own = _DEBIAN_KERNEL.search(release), packages().debian_kernel.get(debian.partition(".")[0])
    if found is None or (own and not release.startswith(f"{own}.")):
        return (headers_package("debian", release),)
    return f"linux-image-{found[1]}", f"linux-headers-{found[1]}"
