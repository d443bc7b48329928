"""Names that users ask for, where something else is right."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class RequestRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Some names, what is planned in their place, and why; without a plan, what else would do."""

    names: tuple[str, ...]
    plan: tuple[str, ...] = ()
    message: str = ""
    instead: str = ""


class Requests(KnowledgeTable, frozen=True):
    """The table ``requests.toml``."""

    row: tuple[RequestRow, ...]


@cache
def requests() -> Requests:
    """Return the table, read once."""
    return load("requests", Requests)


def row_of(name: str) -> RequestRow | None:
    """Return what is known of a name as it was typed, or None."""
    return next((row for row in requests().row if name.lower() in row.names), None)
