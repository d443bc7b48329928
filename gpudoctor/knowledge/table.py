"""Reads a table of this package and holds it against its type.

A checkout has the tables as TOML; the wheel has them as JSON (hatch_build.py).
"""

import os
import sys
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
    return _from_toml(f"{place}.toml", kind)


def _from_toml(path: str, kind: type[TableT]) -> TableT:
    """A table of a checkout, kept as JSON where Python keeps bytecode, and by the same rule: until the TOML changes.

    TOML is read in ten times the time, by each of the hundreds of processes that the tests start.
    """
    file = os.stat(path)
    made_of = b"%d %d\n" % (file.st_mtime_ns, file.st_size)
    folder, name = os.path.split(path)
    kept = os.path.join(folder, "__pycache__", f"{name}.json")
    with suppress(OSError, ValueError), open(kept, "rb") as before:  # ValueError: the disk was full, or worse
        if before.readline() == made_of:
            return msgspec.json.decode(before.read(), type=kind)
    from gpudoctor.toml import tomllib

    with open(path, encoding="utf-8") as text:
        made = msgspec.json.encode(tomllib.loads(text.read()))
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            with open(f"{kept}.{os.getpid()}", "wb") as new:
                new.write(made_of + made)
            os.replace(new.name, kept)
    return msgspec.json.decode(made, type=kind)
