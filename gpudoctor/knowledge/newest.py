"""The newest releases that the tables of this package know."""

from functools import cache

from gpudoctor.knowledge.table import KnowledgeTable, load


class Newest(KnowledgeTable, frozen=True):
    """The table ``newest.toml``."""

    framework: dict[str, str]


@cache
def newest() -> Newest:
    """Return the table, read once."""
    return load("newest", Newest)
