"""Operating systems that install NVIDIA's driver in a way of their own."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class OwnSystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One system.

    Attributes:
        ids: of os-release; empty: any.
        kernel: a regular expression that its kernels match.
        name: the system's name.
        install: the commands for the newest driver, as root.
        build: the commands that make the module for the running kernel.
        upgrade: the commands that bring the newest release of the installed driver.
        older: the commands for an older branch.
        branches: the older branches that there are; empty: any.
        mask: a file and its line that keeps newer branches away.
        use: a file and its line that selects the kernel modules.
        hint: what else there is to know, or what is done without commands.
        dropped: what there is for GPUs that its driver does not support.
    """

    ids: tuple[str, ...]
    kernel: str
    name: str
    install: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    upgrade: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    branches: tuple[int, ...] = ()
    mask: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    hint: str = ""
    dropped: str = ""


class SystemTable(KnowledgeTable, frozen=True):
    """The table ``systems.toml``."""

    system: tuple[OwnSystem, ...]


@cache
def systems() -> SystemTable:
    """The table."""
    return load("systems", SystemTable)


def own_system(distro_id: str, kernel: str) -> tuple[OwnSystem, dict[str, str]] | None:
    """Return the system and what its kernel's name has; None for every other one.

    Args:
        distro_id: ID of os-release.
        kernel: what uname -r prints.
    """
    for row in systems().system:
        if (not row.ids or distro_id in row.ids) and (found := re.fullmatch(row.kernel, kernel)):
            return row, found.groupdict()
    return None
