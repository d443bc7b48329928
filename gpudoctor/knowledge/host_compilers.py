"""The newest host compiler that each nvcc accepts, and the C library's functions that old headers clash with."""

from functools import cache

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class HostCompilers(KnowledgeTable, frozen=True):
    """The table ``host_compilers.toml``."""

    gcc: dict[str, int]
    declared: dict[str, str]


@cache
def host_compilers() -> HostCompilers:
    """Return the table, read once."""
    return load("host_compilers", HostCompilers)


def newest_gcc(cuda: str) -> int | None:
    """Return the newest gcc major that the nvcc of a CUDA release ("12.4") accepts, or None where unknown."""
    rows = host_compilers().gcc
    first = max((v for v in rows if version(v) <= version(cuda)[:2]), key=version, default=None)
    return rows[first] if first else None
