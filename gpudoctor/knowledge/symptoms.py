"""Which checks look for the causes of a message that somebody saw."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.table import Table, load


class Rows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table: pattern, meaning, checks."""

    rows: tuple[tuple[str, str, tuple[str, ...]], ...]


class Symptoms(Table, frozen=True):
    """The table ``symptoms.toml``."""

    symptoms: Rows


class Symptom(msgspec.Struct, frozen=True):
    """What a message means, and the checks (ids or "area.*") that look for its cause."""

    meaning: str
    checks: tuple[str, ...]


@cache
def symptoms() -> Symptoms:
    """Return the table, read once."""
    return load("symptoms", Symptoms)


def recognise(text: str) -> list[Symptom]:
    """Return what a message means: every row whose pattern occurs in it."""
    rows = symptoms().symptoms.rows
    return [Symptom(meaning, checks) for pattern, meaning, checks in rows if re.search(pattern, text, re.I | re.S)]
