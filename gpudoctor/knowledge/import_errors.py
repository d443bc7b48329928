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


class Survived(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message of a package whose import goes on without its compiled part; group 1 is the error, if any."""

    package: str
    pattern: str
    lost: str  # what then does not work
    build: tuple[str, ...] = ()  # commands that build it; empty: pip does so from PyPI's source distribution


class StartedProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs that packages start when they are imported, the distributions' package of them, and what is lost."""

    names: tuple[str, ...]
    system: str
    lost: str


class ImportErrors(KnowledgeTable, frozen=True):
    """The table ``import_errors.toml``."""

    hint: tuple[Hint, ...]
    survived: tuple[Survived, ...]
    program: tuple[StartedProgram, ...]
    imported_as: dict[str, str]
    parts_of_python: dict[str, tuple[str, str]]


@cache
def import_errors() -> ImportErrors:
    """Return the table, read once."""
    return load("import_errors", ImportErrors)


def hint(text: str) -> Hint | None:
    """Return the first row whose pattern is in the text of an import error, or None."""
    return next((row for row in import_errors().hint if re.search(row.pattern, text)), None)


def survived(package: str, stderr: str) -> tuple[Survived, str] | None:
    """Return what a package's import wrote about its compiled part, which did not load, with the error; or None."""
    for row in import_errors().survived:
        match = re.search(row.pattern, stderr, re.M) if row.package == package else None
        if match:
            return row, (match[1] if match.re.groups else match[0]).strip()
    return None


def distribution_of(module: str) -> str:
    """Return the distribution that brings a top package, which mostly has its name: "sklearn" is scikit-learn's."""
    return import_errors().imported_as.get(module) or module.replace("_", "-").lower()


def not_started(stderr: str) -> tuple[StartedProgram, str] | None:
    """Return the program that an import's output names as not found, with its name; or None."""
    # CPython's text of FileNotFoundError, of a program that subprocess does not find on PATH.
    match = re.search(r"No such file or directory: '([\w.-]+)'", stderr)
    if match is None:
        return None
    return next(((row, match[1]) for row in import_errors().program if match[1] in row.names), None)
