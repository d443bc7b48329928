"""Why a kernel module does not compile, by the lines of its build log."""

import re
from collections.abc import Iterable
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class Rows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table, in the order in which they are tried on a line."""

    rows: tuple[tuple[str, str, str], ...]


class BuildErrors(KnowledgeTable, frozen=True):
    """The table ``build_errors.toml``."""

    error: Rows


class BuildError(msgspec.Struct, frozen=True):
    """Why a build failed.

    kind: no-space, memory, compiler-crash, realtime, package, tool, foreign-tools, headers, linker, compiler, gpl-only,
    source. why: a sentence with blanks, {version} and {kernel}; empty for a compiler, of which the machine knows more.
    what: the program, package or module that the line names. line: the line.
    """

    kind: str
    why: str
    what: str
    line: str


@cache
def _rows() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    return tuple((kind, re.compile(text), why) for kind, text, why in load("build_errors", BuildErrors).error.rows)


def first(lines: Iterable[str]) -> BuildError | None:
    """Return what the first line means that means anything: later errors follow from it. None: no line is known."""
    for line in lines:
        for kind, wanted, why in _rows():
            found = wanted.search(line)
            if found:
                named = found.groupdict()
                for name, value in named.items():
                    why = why.replace(f"{{{name}}}", value)
                return BuildError(kind, why, named.get("what") or "", line)
    return None
