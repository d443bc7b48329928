"""What the text of a failed import means."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class Hint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pattern, why it happens, and what fixes it; an empty fix: only the file's home tells.

    `conda` are the packages that conda installs for it.
    """

    pattern: str
    cause: str
    fix: str
    conda: tuple[str, ...] = ()


class ImportErrors(KnowledgeTable, frozen=True):
    """The table ``import_errors.toml``."""

    hint: tuple[Hint, ...]


@cache
def import_errors() -> ImportErrors:
    """Return the table, read once."""
    return load("import_errors", ImportErrors)


def hint(text: str) -> Hint | None:
    """Return the first row whose pattern is in the text of an import error, or None."""
    return next((row for row in import_errors().hint if re.search(row.pattern, text)), None)
