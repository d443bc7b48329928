"""The table of edges.toml: which check's problem is the cause of which other's."""

import functools
from pathlib import Path
from typing import NamedTuple

from gpudoctor.toml import tomllib

TABLE = Path(__file__).with_name("edges.toml")


class Edges(NamedTuple):
    """The table, read.

    Attributes:
        groups: the causes that a group stands for.
        named: by consequence, its causes and groups ("@NAME").
    """

    groups: dict[str, list[str]]
    named: dict[str, list[str]]


@functools.cache
def edges() -> Edges:
    """Read it."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    groups = table.pop("groups")
    return Edges(groups, {f"{area}.{name}": causes for area, found in table.items() for name, causes in found.items()})
