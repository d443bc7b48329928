"""`gpudoctor fleet merge DIR|FILE... -o FILE.jsonl`: many reports as one file with a line for each node."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import complain

if TYPE_CHECKING:
    from gpudoctor.fleet.aggregate.merge import Merged

DESCRIPTION = """Put the reports of many nodes into one file with a line for each: {"node": NAME, "report": {...}}. A
report's node is its file's name without .json, so that `gpudoctor check --json > shared/$(hostname).json` on each node
is all that it takes. Of several reports of a node the newest counts. Exit codes: 0 all are in the file, 2 nothing can
be read or written, 3 some nodes that were asked have no report that can be read."""


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = parts.add_parser("merge", help="put many reports into one file", description=DESCRIPTION)
    one.add_argument(
        "paths", metavar="DIR|FILE", nargs="+", help="folders of reports, reports, and files that this command wrote"
    )
    one.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the file: its name ends in .jsonl, or .jsonl.gz to pack it",
    )
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Merge, and say what is in the file; gives the exit code."""
    from gpudoctor.fleet.aggregate.inputs import ENDINGS
    from gpudoctor.fleet.aggregate.merge import merge
    from gpudoctor.fleet.aggregate.report_sources import SourceError, Sources

    path = arguments.output
    if not path.endswith(ENDINGS) and not path.startswith("/dev/"):
        raise UsageError(f"The file's name ends in .jsonl or .jsonl.gz, and {path or 'an empty name'} does not.")
    try:
        merged = merge(Sources(arguments.paths, ordered=True), path)
    except SourceError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None
    _tell(merged, path)
    return INCOMPLETE if merged.left_out else OK


def _tell(merged: "Merged", path: str) -> None:
    """What is in the file, and what is not; beside the file, so on standard error."""
    complain(f"{path} holds {merged.nodes} node{'s' * (merged.nodes != 1)}.")
    if merged.doubles:
        complain(f"{merged.doubles} left out of nodes that have a newer report.")
    for one in merged.left_out:
        why = one.why if one.state == "unreadable" else f"{one.state}. {one.why}".strip()
        complain(f"{one.nodes} left out: {why}")
