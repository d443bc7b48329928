"""Which JetPack a release of Jetson Linux belongs to, and where its wheels are."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class JetPackRelease(msgspec.Struct, frozen=True, array_like=True):
    """A JetPack: "6", the Python that its wheels are for, and their index; an empty index: none is known."""

    first: str
    jetpack: str
    python: str
    index: str


class JetsonRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows, newest first."""

    rows: tuple[JetPackRelease, ...]


class Jetson(KnowledgeTable, frozen=True):
    """The table ``jetson.toml``."""

    releases: JetsonRows


@cache
def _jetson() -> Jetson:
    return load("jetson", Jetson)


def release(l4t: str) -> JetPackRelease | None:
    """Return the JetPack of "36.4.3", or None where the release is older than the table."""
    own = version(l4t)
    return next((row for row in _jetson().releases.rows if own >= version(row.first)), None)
