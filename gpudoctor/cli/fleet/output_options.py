"""In which form the summary of a fleet is written, where to, and what is taken out of it before."""

import argparse
import sys
from typing import TYPE_CHECKING, NamedTuple

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out, out_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpudoctor.fleet.summary import Fleet

# The names of gpudoctor.fleet.renderers.formats, which is loaded for those who run the command, and not for --help.
NAMES = ("text", "json", "html", "prometheus", "csv", "parquet")


class FleetOutput(NamedTuple):
    """How the summary is written.

    Attributes:
        name: of the format.
        path: the file; None: standard output.
        mask: whether names of users are taken out, and names of nodes; None: as the format does it.
        everything: whether the text lists everything.
        cause: the ID of the causes that the text shows alone, with their details; empty: all in short.
    """

    name: str
    path: str | None
    mask: bool | None
    everything: bool
    cause: str = ""


def options(one: Parser) -> None:
    """Add the options that say how the summary is written."""
    one.add_argument(
        "--json", action="store_true", help="print the summary as one JSON document; same as --format json"
    )
    one.add_argument("--format", choices=NAMES, metavar="NAME", help=f"output format: {', '.join(NAMES)}")
    one.add_argument("--output", "-o", metavar="FILE", help="write to a file, atomically (-: standard output)")
    one.add_argument("--all", action="store_true", help="show everything: all node names, causes, facts and figures")
    one.add_argument("--cause", metavar="ID", help="text: show only the causes with this check ID, with all details")
    one.add_argument(
        "--mask",
        action=argparse.BooleanOptionalAction,
        help="mask names of nodes and users, home directories and addresses (default: node names are shown, because "
        "they are the result; user names are masked in html, which is made for sharing); secrets are always "
        "masked",
    )


def chosen(arguments: argparse.Namespace) -> FleetOutput:
    """How it is to be written.

    Raises:
        UsageError: the arguments contradict each other.
    """
    if arguments.json and arguments.format not in (None, "json"):
        raise UsageError(f"--json and --format {arguments.format} cannot be used together.")
    if arguments.output == "":
        raise UsageError("--output needs a file name; an unset shell variable gives an empty one.")
    name = "json" if arguments.json else arguments.format or "text"
    path = None if arguments.output == "-" else arguments.output
    if name == "parquet" and path is None:
        from gpudoctor.cli.terminal import is_terminal

        if is_terminal(sys.stdout):
            raise UsageError("Parquet is binary: write it to a file with --output, or to a pipe.")
    if arguments.cause is not None and name != "text":
        raise UsageError(f"--cause cannot be used with --format {name}, which has the details of all causes.")
    if arguments.cause == "":
        raise UsageError("--cause needs a check ID; an unset shell variable gives an empty one.")
    return FleetOutput(name, path, arguments.mask, arguments.all, arguments.cause or "")


def deliver(fleet: "Fleet", form: FleetOutput) -> None:
    """Write the summary: to the file, or to standard output.

    Raises:
        UsageError: it cannot be written, or a library is missing.
        OSError: standard output cannot be written to.
    """
    known = list(dict.fromkeys(one.check for one in fleet.causes if one.check))
    if form.cause and form.cause not in known:
        raise UsageError(f"No cause {form.cause} here: {', '.join(known) or 'there is none'}.")
    made = _rendered(_leaving(fleet, form), form)
    if form.path is not None:
        from gpudoctor.facts.facts_file import whole

        try:
            with whole(form.path) as file:
                for piece in made:
                    file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise UsageError(f"{form.path} cannot be written: {error.strerror or error}.") from None
        return
    for piece in made:
        if not isinstance(piece, bytes):
            (out_json if form.name == "json" else out)(piece)
        elif sys.stdout is None:
            raise UsageError("Standard output is closed.")
        else:
            sys.stdout.buffer.write(piece)


def _leaving(fleet: "Fleet", form: FleetOutput) -> "Fleet":
    """What may leave in this form."""
    from gpudoctor.fleet.masking import harmless, masked
    from gpudoctor.fleet.renderers.formats import FORMATS

    fleet = harmless(fleet)
    if form.mask is False or (form.mask is None and not FORMATS[form.name].leaves):
        return fleet
    return masked(fleet, nodes=form.mask is True)


def _rendered(fleet: "Fleet", form: FleetOutput) -> "Iterator[str | bytes]":
    from gpudoctor.fleet.renderers.formats import FORMATS

    if form.name != "text":
        yield from FORMATS[form.name].pieces(fleet)
        return
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.fleet.renderers.text import render

    if form.path is not None:
        yield render(fleet, everything=form.everything, cause=form.cause)
    else:
        yield render(fleet, columns(), colours(sys.stdout), form.everything, form.cause)
