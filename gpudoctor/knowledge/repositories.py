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
    first_branch: int = 0


class Repositories(KnowledgeTable, frozen=True):
    """The table ``repositories.toml``."""

    repository: tuple[DriverRepository, ...]


@cache
def _rows() -> tuple[DriverRepository, ...]:
    return load("repositories", Repositories).repository


def _row(distro_id: str, release: str) -> DriverRepository | None:
    major = release.partition(".")[0]
    fits = (row for row in _rows() if distro_id.lower() in row.distros and (not row.releases or major in row.releases))
    return next(fits, None)


def first_branch(distro_id: str, release: str) -> int:
    """Return the oldest driver branch that is in a release's repository; 0 where it has every supported one."""
    row = _row(distro_id, release)
    return row.first_branch if row else 0


def commands(distro_id: str, release: str, machine: str) -> tuple[Command, ...]:
    """Return the commands that add what the driver's packages come from; () where none is needed.

    Args:
        distro_id: ID of os-release.
        release: VERSION_ID of os-release ("9.4", "43"); its first number decides.
        machine: the processor's architecture ("x86_64", "aarch64").
    """
    row = _row(distro_id, release)
    if row is None:
        return ()
    arch = "sbsa" if machine == "aarch64" else "x86_64"
    words = {"release": release.partition(".")[0], "machine": machine, "arch": arch}
    return tuple(as_root(*command.format(**words).split()) for command in row.commands)
