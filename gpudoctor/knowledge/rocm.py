"""Which AMD GPUs a ROCm release supports, and where an override of the gfx target helps."""

import re
from functools import cache

import msgspec

from gpudoctor.digits import number_of
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.packages import Family
from gpudoctor.knowledge.table import KnowledgeTable, load


class RocmRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ROCm release: its official gfx targets, its amdgpu driver, and the releases tested on that driver."""

    version: str
    gfx: str
    user_space: str
    driver: str = ""


class SpaceInPath(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases whose HIP does not load kernels from a path with a space: those reported, and those AMD names."""

    reported: tuple[str, str]  # from the first, to the last
    named: tuple[str, str]  # from the first, before the second


class Comgr(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The packages with libamd_comgr, by family of distributions; `{number}` is that of its soname."""

    amd: dict[Family, str]
    distribution: dict[Family, str]


class RocBlas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """rocBLAS: the last release with kernels for a target that it dropped, that release's guide, and its packages.

    `package_by_target` is the first release with a package for each target, and how that is called.
    """

    last: dict[str, str]
    guide: str
    package: str
    package_by_target: tuple[str, str]


class WslCards(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cards that WSL began to support with a release of ROCm and of Windows' driver ("": from its start)."""

    rocm: str
    adrenalin: str
    names: str


class RocmInWsl(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """ROCm for WSL: its runtime's own library and packages, its installer by Ubuntu's codenames, and the cards.

    `rocdxg` are the first release that uses librocdxg, and the first that does so without being asked.
    """

    rocdxg: tuple[str, str]
    library: str
    packages: dict[str, str]
    release: str
    installer: str
    codenames: dict[str, str]
    cards: tuple[WslCards, ...]


class RocmOfApt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """AMD's packages for apt: a regular expression for their versions, and the file that prefers their origin."""

    version: str
    pin: str
    origin: str


class RocmTable(KnowledgeTable, frozen=True):
    """The table ``rocm.toml``."""

    release: tuple[RocmRelease, ...]
    override: dict[str, str]
    ran_as: dict[str, tuple[str, str]]
    hangs: dict[str, str]
    generic: dict[str, str]
    without_kfd: dict[str, str]
    kernel: dict[str, str]
    hsa_init: dict[str, str]
    debugging: dict[str, tuple[str, str]]
    cards: dict[str, str]
    space_in_path: SpaceInPath
    wsl: RocmInWsl
    comgr: Comgr
    rocblas: RocBlas
    apt: RocmOfApt
    wheels: dict[str, str]
    amdsmi: dict[str, str]


@cache
def rocm() -> RocmTable:
    """Return the table, read once."""
    return load("rocm", RocmTable)


def wheels(number: str) -> str:
    """The page of links to AMD's own wheels for a release of ROCm: "7.2.0", "7.1.1"."""
    return rocm().wheels["page"].format(release=number.removesuffix(".0") if number.count(".") > 1 else number)


def release(number: str) -> RocmRelease | None:
    """Return the release of "6.4" or "6.4.1", or None where it is unknown."""
    minor = ".".join(number.split(".")[:2])
    return next((r for r in rocm().release if r.version == minor), None)


def breaks_paths_with_space(number: str) -> bool | None:
    """Say whether HIP of a release is reported not to load kernels from a path with a space; None: it loads them.

    False: AMD's title of the report includes the release, and nobody reported it.
    """
    table, minor = rocm().space_in_path, version(number)[:2]
    if version(table.reported[0]) <= minor <= version(table.reported[1]):
        return True
    return False if version(table.named[0]) <= minor < version(table.named[1]) else None


def comgr_package(family: Family, soname: str, *, distribution: bool) -> str | None:
    """Return the package with libamd_comgr; None where the table has none.

    Args:
        family: of the distribution.
        soname: "libamd_comgr.so.3".
        distribution: ROCm is the distribution's own, not AMD's.
    """
    table = rocm().comgr
    name = (table.distribution if distribution else table.amd).get(family)
    return name.format(number=soname.rpartition(".")[2]) if name else None


def supports(number: str, gfx: str) -> bool | None:
    """Say whether a ROCm release names this gfx target as supported; None where the release is unknown."""
    found = release(number)
    return None if found is None else gfx in found.gfx.split()


def last_with_blas(gfx: str) -> str | None:
    """Return the last release whose rocBLAS has kernels for a target that it dropped, else None."""
    return rocm().rocblas.last.get(gfx)


def guide(number: str) -> str:
    """Return AMD's guide to install an older release: "6.3"."""
    return rocm().rocblas.guide.format(release=number)


def blas_package(number: str, gfx: str) -> str:
    """Return the package of a release that has rocBLAS's kernels for a target: "amdrocm-blas7.14-gfx1100"."""
    table, minor = rocm().rocblas, ".".join(number.split(".")[:2])
    first, name = table.package_by_target
    return table.package if version(minor) < version(first) else name.format(release=minor, gfx=gfx)


def before_wsl(number: str) -> str | None:
    """Return the first release that supports WSL where this one is older; "6.1" may be that one."""
    first, found = rocm().wsl.cards[0].rocm, version(number)
    return first if found < version(first)[: len(found)] else None


def releases_for(gfx: str) -> tuple[str, ...]:
    """Return the releases that name this gfx target as supported, oldest first."""
    return tuple(r.version for r in rocm().release if gfx in r.gfx.split())


def driver_works(user_space: str, driver_release: str) -> bool | None:
    """Say whether ROCm libraries work on the amdgpu driver that came with another ROCm release.

    True: AMD tests the pair. False: the libraries are older than all that AMD tests on this driver.
    None: nobody said, which is so for libraries that came out after the driver's list was written.
    """
    found, driver = release(user_space), release(driver_release)
    if found is None or driver is None:
        return None
    tested = driver.user_space.split()
    if found.version in tested:
        return True
    # From 7.14 on the pages of the driver name one release only and rule out none.
    older = len(tested) > 1 and version(found.version) < version(tested[0])
    return False if older else None


def releases_behind(driver_release: str, user_space: str) -> int | None:
    """Say how many releases ROCm libraries are newer than the driver's own; negative: older; None: not known."""
    order = [r.version for r in rocm().release]
    found, driver = release(user_space), release(driver_release)
    if found is None or driver is None:
        return None
    return order.index(found.version) - order.index(driver.version)


def release_of_package(text: str) -> str | None:
    """Return the ROCm release that the package amdgpu-dkms belongs to, from its version.

    "1:6.10.5.60301-2109964.22.04" is of ROCm 6.3.1, "1:6.14.14.30100000-2193512.24.04" of the driver 30.10: the
    last number before the dash writes each part of it with two digits.
    """
    found = re.search(r"\.(\d{1,2})(\d{2})(\d{2})(?:\d{2})?-", text)
    if found is None:
        return None
    return release_of_driver(f"{int(found[1])}.{int(found[2])}")


def debugging(name: str, value: str) -> str | None:
    """Return what a variable for debugging does to all programs, or None where it is none or switched off."""
    row = rocm().debugging.get(name)
    return row[1] if row and re.fullmatch(row[0], value.strip()) else None


def start_fails(status: str) -> str:
    """Return what a status means that ROCm's runtime returns when it starts, as the rest of a sentence; "": unknown."""
    return rocm().hsa_init.get(status, "")


def first_kernel(gfx: str) -> str | None:
    """Return the first kernel whose own amdgpu drives this target, or None where every kernel in use does."""
    return rocm().kernel.get(gfx)


def release_of_driver(driver: str) -> str | None:
    """Return the ROCm release that an amdgpu driver belongs to: "30.10.1" is "7.0"; None where unknown."""
    minor = ".".join(driver.split(".")[:2])
    return next((r.version for r in rocm().release if minor in (r.driver, r.version)), None)


def override_for(gfx: str) -> str | None:
    """Return the HSA_OVERRIDE_GFX_VERSION that lets this target borrow a sibling's kernels, or None.

    None also where people try it and it hangs or ends in INVALID_ISA (gfx1103, gfx115x).
    """
    return rocm().override.get(gfx)


def ran_as(gfx: str, target: str, hip: str) -> bool:
    """Whether a target of another instruction set ran these kernels with a build for this ROCm release, "5.2.21151"."""
    row = rocm().ran_as.get(gfx)
    return row is not None and row[0] == target and version(hip)[:2] <= version(row[1])


def hangs_as(gfx: str) -> str | None:
    """Return the sibling with whose kernels this target is known to hang, or None."""
    return rocm().hangs.get(gfx)


def without_kfd(gfx: str) -> str | None:
    """Return the family of a target that the kernel's compute driver does not support, for people, or None."""
    return next((family for begin, family in rocm().without_kfd.items() if gfx.startswith(begin)), None)


def generic_targets(name: str) -> frozenset[str]:
    """Return the targets that a generic one such as "gfx11-generic" covers; empty where it is none."""
    return frozenset(rocm().generic.get(name, "").split())


def cards_of(gfx: str) -> str | None:
    """Return the products with this gfx target, for people, or None."""
    return rocm().cards.get(gfx)


def isa_family(gfx: str) -> str | None:
    """Return the instruction set that a target shares with its siblings: "gfx1031" is "10.3".

    Only targets of one family run one another's kernels. The gfx9 targets differ from each other
    in their instructions, so each is a family of its own ("9.0.a"). None where it is no gfx target.
    """
    found = re.fullmatch(r"gfx(\d{1,2})(\d)([0-9a-f])", gfx)
    if found is None:
        return None
    major, minor, step = found.groups()
    return f"{major}.{minor}" if int(major) >= 10 else f"{major}.{minor}.{step}"


def gfx_of_target_version(number: int) -> str | None:
    """Return the gfx target of KFD's gfx_target_version: 90010 is gfx90a, 110000 gfx1100; None for 0, a processor.

    The number is major * 10000 + minor * 100 + stepping (kfd_device.c); the name writes the last two in hex.
    """
    if not 0 < number < 1_000_000:  # of more than two digits is no part of a name
        return None
    major, minor, step = number // 10000, number // 100 % 100, number % 100
    return f"gfx{major}{minor:x}{step:x}"


def gfx_of_override(text: str) -> str | None:
    """Return the gfx target that HSA_OVERRIDE_GFX_VERSION names: "10.3.0" is "gfx1030"; None if malformed."""
    parts = [number for part in text.split(".") if (number := number_of(part)) is not None]
    if len(parts) != 3 or text.count(".") != 2:
        return None
    return f"gfx{parts[0]}{parts[1]:x}{parts[2]:x}"


def newest() -> str:
    """Return the newest release of the table."""
    return max((r.version for r in rocm().release), key=version)
