"""Which package repositories a release needs before its NVIDIA driver can be installed."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.tasks import Command, as_root


class DriverRepository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The repositories of some releases, and the commands that add them; commands that are repeated do no harm."""

    distros: tuple[str, ...]
    commands: tuple[str, ...]
    releases: tuple[str, ...] = ()


class Repositories(KnowledgeTable, frozen=True):
    """The table ``repositories.toml``."""

    repository: tuple[DriverRepository, ...]


@cache
def _rows() -> tuple[DriverRepository, ...]:
    return load("repositories", Repositories).repository


def commands(distro_id: str, release: str, machine: str) -> tuple[Command, ...]:
    """Return the commands that add what the driver's packages come from; () where none is needed.

    Args:
        distro_id: ID of os-release.
        release: VERSION_ID of os-release ("9.4", "43"); its first number decides.
        machine: the processor's architecture ("x86_64", "aarch64").
    """
    major = release.partition(".")[0]
    words = {"release": major, "machine": machine, "arch": "sbsa" if machine == "aarch64" else "x86_64"}
    for row in _rows():
        if distro_id.lower() in row.distros and (not row.releases or major in row.releases):
            return tuple(as_root(*command.format(**words).split()) for command in row.commands)
    return ()
