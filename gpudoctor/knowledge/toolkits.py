"""Which CUDA toolkits NVIDIA's package repositories have for a distribution, and how these are added."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.tasks import Command, Edit, Tasks, as_root


class Toolkit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The minor releases, oldest first, and cuDNN's packages by the family of the package manager."""

    releases: tuple[str, ...]
    cudnn: dict[str, str]


class DriverPatterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The driver's packages in NVIDIA's repositories, as patterns of apt and dnf."""

    apt: str
    dnf: str


class ToolkitRepository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The repository of some releases, and the first and the last toolkit in it; "" as the last: the newest."""

    distros: tuple[str, ...]
    name: str
    by: Literal["deb", "dnf4", "dnf5", "zypper"]
    first: str
    last: str = ""
    releases: tuple[str, ...] = ()

    def has(self, cuda: str) -> bool:
        """Whether a toolkit ("12.8") is in it."""
        return version(self.first) <= version(cuda) and (not self.last or version(cuda) <= version(self.last))


class DevelopmentPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a toolkit with headers, in a package of its own; `{release}` in `package` is "13-0".

    `used_by` compile against it for GPUs from a compute capability on.
    """

    name: str
    header: str
    package: dict[str, str]
    conda: str
    used_by: frozenset[str]
    capability: str
    fails: str
    library: str = ""


class ToolkitTable(KnowledgeTable, frozen=True):
    """The table ``toolkits.toml``."""

    toolkit: Toolkit
    driver: DriverPatterns
    development: tuple[DevelopmentPart, ...]
    added: dict[str, tuple[str, ...]]
    repository: tuple[ToolkitRepository, ...]
    own: dict[str, str]


# What keeps a repository's driver packages away from apt.
PIN = "/etc/apt/preferences.d/cuda-toolkit-only"


@cache
def toolkits() -> ToolkitTable:
    """Return the table, read once."""
    return load("toolkits", ToolkitTable)


def repository(distro_id: str, release: str) -> ToolkitRepository | None:
    """Return NVIDIA's repository for a distribution, or None where the table has none.

    Args:
        distro_id: ID of os-release; "wsl" for distributions in WSL.
        release: VERSION_ID of os-release ("24.04", "9.4"); "": it has none.
    """
    names = (release, release.partition(".")[0])
    for row in toolkits().repository:
        if distro_id.lower() in row.distros and (not row.releases or any(name in row.releases for name in names)):
            return row
    return None


def own_toolkit(distro_id: str, release: str) -> str | None:
    """Return the CUDA release of a distribution's own package of the toolkit, or None where the table has none.

    Args:
        distro_id: ID of os-release.
        release: VERSION_ID of os-release ("13").
    """
    return toolkits().own.get(f"{distro_id.lower()} {release}")


def arch_of(machine: str | None) -> str:
    """Return how NVIDIA's repositories write a CPU's architecture ("aarch64" is "sbsa"); x86_64 where unknown."""
    return "sbsa" if machine == "aarch64" else "x86_64"


def adding(row: ToolkitRepository, arch: str, driver: bool) -> Tasks:
    """Return the tasks that add a repository.

    Args:
        row: the repository.
        arch: the CPU's architecture as `arch_of` writes it.
        driver: whether the driver comes from it as well, or may do so; else its driver packages are kept away.
    """
    table = toolkits()
    words = (line.format(name=row.name, arch=arch).split() for line in table.added[row.by])
    commands: tuple[Command, ...] = tuple(as_root(*line) for line in words)
    if row.by == "deb":
        pin = f"Package: {table.driver.apt}\nPin: origin developer.download.nvidia.com\nPin-Priority: -1\n"
        kept = () if driver or row.name.startswith("wsl") else (Edit(PIN, text=pin, root=True),)
        return (*commands, *kept, as_root("apt-get", "update"))
    if driver or row.by == "zypper":
        return commands
    option = f"cuda-{row.name}-{arch}.excludepkgs={table.driver.dnf}"
    setopt = ("setopt", option) if row.by == "dnf5" else ("--save", f"--setopt={option}")
    return (*commands, as_root("dnf", "config-manager", *setopt))


def removing(row: ToolkitRepository, arch: str) -> Tasks:
    """Return the tasks that take such a repository away again; what keeps its driver away is a file of its own."""
    if row.by == "deb":
        return (as_root("apt-get", "purge", "cuda-keyring"),)
    if row.by == "zypper":
        return (as_root("zypper", "removerepo", f"cuda-{row.name}-{arch}"),)
    return (Edit(f"/etc/yum.repos.d/cuda-{row.name}.repo", gone=True, root=True),)


def cudnn_package(family: str, cuda: str) -> str | None:
    """Return the package with cuDNN's headers and library for a CUDA release ("12.8"), or None where unknown."""
    found = toolkits().toolkit.cudnn.get(family)
    return found.format(major=cuda.partition(".")[0]) if found else None


def nearest(row: ToolkitRepository | None, cuda: str) -> str | None:
    """Return the release in a repository that is nearest to one, of its major: it, a newer one, an older one; or None.

    Extensions of PyTorch are compiled by any nvcc of PyTorch's CUDA major.
    """
    there = [one for one in toolkits().toolkit.releases if row is None or row.has(one)]
    same = [one for one in there if version(one)[0] == version(cuda)[0]]
    newer = [one for one in same if version(one) >= version(cuda)]
    return newer[0] if newer else same[-1] if same else None
