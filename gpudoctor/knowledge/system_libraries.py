"""Shared libraries that wheels expect from the system or from the NVIDIA driver, and how a machine gets them."""

from functools import cache

import msgspec

from gpudoctor.knowledge.packages import Family
from gpudoctor.knowledge.table import KnowledgeTable, load


class NvidiaPackages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages of NVIDIA's CUDA repository.

    Attributes:
        packages: their names.
        arch: the only one that has them, "" where all have.
        jetson: whether they are for Jetsons alone: elsewhere a wheel brings the library.
    """

    packages: tuple[str, ...]
    arch: str
    jetson: bool = False


class SystemLibraries(KnowledgeTable, frozen=True):
    """The table ``system_libraries.toml``."""

    package: dict[str, dict[Family, str]]
    capability: dict[str, str]
    nvidia: dict[str, NvidiaPackages]


@cache
def system_libraries() -> SystemLibraries:
    """Return the table, read once."""
    return load("system_libraries", SystemLibraries)


def is_of_system(soname: str) -> bool:
    """Whether a library comes with a package of the distribution."""
    return soname in system_libraries().package


def package_of(soname: str, family: Family) -> str | None:
    """Return the package of a family of distributions that has a library; None where the table has none."""
    return system_libraries().package.get(soname, {}).get(family) or None


def capability_of(soname: str) -> str | None:
    """Return the driver capability with which a container gets a library of the NVIDIA driver: "video"."""
    return system_libraries().capability.get(soname)


def in_cuda_repository(soname: str, jetson: bool) -> NvidiaPackages | None:
    """Return the packages of NVIDIA's CUDA repository with a library that no wheel brings; None for others.

    Args:
        soname: of the library.
        jetson: whether the machine is a Jetson.
    """
    rows = (row for start, row in system_libraries().nvidia.items() if soname.startswith(start))
    return next((row for row in rows if jetson or not row.jetson), None)
