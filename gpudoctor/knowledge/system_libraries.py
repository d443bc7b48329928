"""Shared libraries that wheels expect from the system or from the NVIDIA driver, and how a machine gets them."""

from functools import cache

from gpudoctor.knowledge.packages import Family
from gpudoctor.knowledge.table import KnowledgeTable, load


class SystemLibraries(KnowledgeTable, frozen=True):
    """The table ``system_libraries.toml``."""

    package: dict[str, dict[Family, str]]
    capability: dict[str, str]


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
