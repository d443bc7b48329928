"""`gpudoctor fleet merge DIR|FILE... -o FILE.jsonl`: many reports as one file with a line for each node."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import complain

if TYPE_CHECKING:
    from gpudoctor.fleet.aggregate.merge import Merged

DESCRIPTION = """Merge the reports of many nodes into one file with one line per node: {"node": NAME, "report": {...}}.
The node is the report's file name without .json, so `gpudoctor check --json > shared/$(hostname).json` on each node is
enough. If a node has several reports, the newest counts."""


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = parts.add_parser("merge", help="merge many reports into one file", description=DESCRIPTION)
    one.add_argument(
        "paths",
        metavar="DIR|FILE",
        nargs="+",
        help="directories of reports, reports, and files written by this command",
    )
    one.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the file to write: NAME.jsonl, or NAME.jsonl.gz to compress it",
    )
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Merge, and say what is in the file; gives the exit code."""
    from gpudoctor.fleet.aggregate.inputs import ENDINGS
    from gpudoctor.fleet.aggregate.merge import merge
    from gpudoctor.fleet.aggregate.report_sources import SourceError, Sources

    path = arguments.output
    if not path.endswith(ENDINGS) and not path.startswith("/dev/"):
        raise UsageError(f"{path or 'an empty name'}: the file name must end in .jsonl or .jsonl.gz.")
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
    left = sum(one.count for one in merged.left_out)
    without = f", and a line without a report for {left:,} more" if left else ""
    complain(f"{path} contains {merged.nodes:,} node{'s' * (merged.nodes != 1)}{without}.")
    if merged.doubles:
        complain(f"{merged.doubles:,} skipped: the node has a newer report.")
    for one in merged.left_out:
        why = one.why if one.state == "unreadable" else f"{one.state}. {one.why}".strip()
        complain(f"{one.nodes} without a report: {why}")
