"""`gpudoctor diff A B`: what differs between two machines, what matters first."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from gpudoctor.cli import FAILED, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out, out_json

if TYPE_CHECKING:
    from gpudoctor.comparison import ComparedMachine, Comparison

DESCRIPTION = """Compare two machines, or one machine before and after a change: files written by `gpudoctor facts` or
`gpudoctor check --json`. Expected differences (time, load, temperature, processes, serial numbers) are ignored."""
SCHEMA = "gpudoctor.diff/1"
WIDEST = 120  # columns: in a wider terminal the sides would be too far apart to be compared


class DiffEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One difference, for machines."""

    path: str
    label: str  # the path in words
    group: str
    state: str  # differs, only here, only there, unknown here, unknown there
    matters: bool
    here: str
    there: str
    change: float | None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison, for machines; its field names are a contract."""

    schema: str = SCHEMA
    here: str
    there: str
    whole: bool
    matters: int
    differences: tuple[DiffEntry, ...]


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("diff", help="compare two machines, relevant differences first", description=DESCRIPTION)
    one.add_argument("here", metavar="A", help="a facts file or a JSON report (-: standard input)")
    one.add_argument("there", metavar="B", help="the other one (-: standard input)")
    one.add_argument("--all", action="store_true", help="also list minor differences, and what is unknown on one side")
    one.add_argument("--json", action="store_true", help="print everything as one JSON document")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare and write; gives the exit code."""
    from gpudoctor.comparison import compare

    if arguments.here == "-" == arguments.there:
        raise UsageError("Only one of the two files can be standard input.")
    sides = [_side(path) for path in (arguments.here, arguments.there)]
    if sides[0].title == sides[1].title:
        names = (arguments.here, arguments.there)
        sides = [msgspec.structs.replace(side, title=name) for side, name in zip(sides, names, strict=True)]
    comparison = compare(*sides)
    if arguments.json:
        from gpudoctor.report.sanitize import document

        out_json(document(document_of(comparison)))
    else:
        from gpudoctor.cli.diff_text import render
        from gpudoctor.cli.terminal import colours, columns

        width = min(columns(), WIDEST)
        out(render(comparison, width, colours(sys.stdout), arguments.all))
    return FAILED if comparison.matters else OK


def _side(path: str) -> "ComparedMachine":
    """A side out of a file, a pipe or standard input.

    Raises:
        UsageError: it cannot be read, or is neither facts nor a report.
    """
    from gpudoctor.comparison import loaded, read
    from gpudoctor.facts.facts_file import LIMIT, FactsFileError

    if path == "-" and sys.stdin is None:
        raise UsageError("Standard input is closed: nothing to compare.")
    try:
        if path == "-":
            return loaded(sys.stdin.buffer.read(LIMIT + 1), "standard input")
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):  # <(ssh host gpudoctor facts)
            with open(path, "rb") as file:
                return loaded(file.read(LIMIT + 1), path)
        return read(path)
    except FactsFileError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None


def document_of(comparison: "Comparison") -> Document:
    """The comparison as a document."""
    matters = set(comparison.matters)
    return Document(
        here=comparison.here,
        there=comparison.there,
        whole=comparison.whole,
        matters=len(matters),
        differences=tuple(
            DiffEntry(
                path=row.path, label=row.label, group=row.group.value, state=row.state.value, matters=row in matters,
                here=row.here, there=row.there, change=row.change,
            )
            for row in comparison.rows
        ),
    )  # fmt: skip
