"""The oldest GPUs that releases of CUDA's libraries have kernels for."""

from functools import cache

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class LibraryGpus(KnowledgeTable, frozen=True):
    """The table ``library_gpus.toml``."""

    lowest: dict[str, dict[str, str]]


@cache
def library_gpus() -> LibraryGpus:
    """Return the table, read once."""
    return load("library_gpus", LibraryGpus)


def lowest_capability(library: str, release: str) -> str | None:
    """Return the lowest compute capability that a library ("cudnn") of a release has kernels for; None: not known.

    Raises:
        ValueError: the release does not begin with a number.
    """
    rows = library_gpus().lowest[library]
    return rows[first] if (first := _row(rows, release)) else None


def _row(rows: dict[str, str], release: str) -> str | None:
    return max((v for v in rows if version(v) <= version(release)), key=version, default=None)


def first_without(library: str, capability: str) -> str | None:
    """Return the first release of a library that has no kernels for a GPU; None: all have, as far as is known."""
    return next((v for v, low in library_gpus().lowest[library].items() if version(low) > version(capability)), None)
