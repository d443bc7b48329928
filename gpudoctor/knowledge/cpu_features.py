"""Which instruction sets of the CPU the wheels of packages need."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class CpuNeed(msgspec.Struct, frozen=True, array_like=True):
    """What a package needs from a release on, as /proc/cpuinfo names it, and what people call it."""

    package: str
    since: str
    features: tuple[str, ...]
    name: str


class CpuRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table."""

    rows: tuple[CpuNeed, ...]


class CpuTable(KnowledgeTable, frozen=True):
    """The table ``cpu_features.toml``."""

    cpu: CpuRows


@cache
def _table() -> CpuTable:
    return load("cpu_features", CpuTable)


def known() -> frozenset[str]:
    """Every feature that a package of the table needs."""
    return frozenset(feature for row in _table().cpu.rows for feature in row.features)


def need(package: str, release: tuple[int, ...]) -> CpuNeed | None:
    """What a release of a package needs; None where the table knows nothing."""
    return next((row for row in _table().cpu.rows if row.package == package and release >= version(row.since)), None)
