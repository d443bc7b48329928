"""Reads a table of this package and holds it against its type.

A checkout has the tables as TOML; the wheel has them as JSON (hatch_build.py).
"""

import os
from contextlib import suppress
from typing import TypeVar

import msgspec


class TableMeta(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a table was collected, and how far it can be trusted."""

    collected: str
    confidence: str


class TableSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the entries of a table come from: a public page (url) or repository (repo)."""

    id: str
    what: str
    date: str
    url: str = ""
    repo: str = ""


class KnowledgeTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every table has besides its own entries."""

    meta: TableMeta
    source: list[TableSource]


TableT = TypeVar("TableT", bound=KnowledgeTable)


def load(name: str, kind: type[TableT]) -> TableT:
    """Return the table ``name`` of this package as ``kind``.

    Raises:
        FileNotFoundError: no table has this name.
        msgspec.ValidationError: the table does not fit its type.
    """
    place = os.path.join(os.path.dirname(__file__), name)
    with suppress(FileNotFoundError), open(f"{place}.json", "rb") as made:
        return msgspec.json.decode(made.read(), type=kind)
    # Imported here: most runs end before they need a table, and each import delays the start.
    from gpudoctor.toml import tomllib

    with open(f"{place}.toml", encoding="utf-8") as file:
        text = file.read()
    return msgspec.convert(tomllib.loads(text), kind, str_keys=True)
