"""`gpudoctor fleet report DIR|FILE...`: what the reports of many machines say together."""

import argparse
import os
from typing import TYPE_CHECKING

from gpudoctor.cli import FAILED, INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet.output_options import chosen, deliver, options
from gpudoctor.cli.output import complain
from gpudoctor.cli.status_line import StatusLine

if TYPE_CHECKING:
    from gpudoctor.fleet.expectations import Holding
    from gpudoctor.fleet.summary import Fleet

DESCRIPTION = """Summarize the reports of many machines: causes and their nodes, worst first; configuration drift
between identical nodes; outliers among measured values; changes since last time."""
_NAMED = 200  # letters of a set of nodes in a sentence


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = parts.add_parser("report", help="summarize the reports of many machines", description=DESCRIPTION)
    one.add_argument(
        "paths",
        metavar="DIR|FILE",
        nargs="+",
        help="the directory of a run, a directory of NODE.json files, reports, files of `fleet merge`, or a summary "
        "as JSON",
    )
    one.add_argument(
        "--since",
        metavar="OLD",
        help="show what changed since then: a summary as JSON, or reports (default: the last summary, kept in the "
        "directory of a run)",
    )
    one.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="FILE",
        help="compare each report with this expectations file; repeatable",
    )
    one.add_argument("--nodes", metavar="SET", help="only these nodes: node[01-16,20]")
    options(one)
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Sum up and write; gives the exit code."""
    form = chosen(arguments)
    holding = _holding(arguments)
    names = _names(arguments)
    fleet = _read(arguments, holding, names)
    fleet, kept = _with_history(arguments, fleet, names)
    absent = _absent(fleet, names)
    if holding is not None:
        import msgspec

        fleet = msgspec.structs.replace(fleet, next=(*fleet.next, *holding.unheld()))
    deliver(fleet, form)
    if kept:
        _keep(kept, fleet)
    return _code(fleet, absent or (holding is not None and holding.open))


def _holding(arguments: argparse.Namespace) -> "Holding | None":
    """What holds reports against the files that were named.

    Raises:
        UsageError: one cannot be used.
    """
    if not arguments.expect:
        return None
    from gpudoctor.cli.expect_options import in_time
    from gpudoctor.expect.file_permissions import ExpectFileError
    from gpudoctor.expect.loader import load
    from gpudoctor.fleet.expectations import Holding

    try:
        return Holding(in_time(lambda: load(arguments.expect)))
    except ExpectFileError as error:
        raise UsageError(str(error)) from None


def _names(arguments: argparse.Namespace) -> frozenset[str] | None:
    """The nodes that were chosen; None: all.

    Raises:
        UsageError: what was given is no set of nodes.
    """
    if arguments.nodes is None:
        return None
    from gpudoctor.fleet.nodesets import NodesError, unfold

    try:
        names = frozenset(unfold(arguments.nodes))
    except NodesError as error:
        raise UsageError(str(error)) from None
    if not names:
        raise UsageError("--nodes needs a node set; an unset shell variable gives an empty one.")
    return names


def _read(arguments: argparse.Namespace, holding: "Holding | None", names: frozenset[str] | None) -> "Fleet":
    """The summary of what was named.

    Raises:
        UsageError: it cannot be read.
    """
    from gpudoctor.fleet.summary_store import is_summary

    if len(arguments.paths) == 1 and os.path.isfile(arguments.paths[0]) and is_summary(arguments.paths[0]):
        for option in ("--expect", "--nodes"):
            if getattr(arguments, option[2:]):
                raise UsageError(f"{option} needs the reports themselves: {arguments.paths[0]} is a summary.")
    fleet = _loaded(arguments.paths, holding, names)
    if names is not None and not fleet.total:
        raise UsageError(f"No reports of the nodes {arguments.nodes}.")
    return fleet


def _loaded(paths: list[str], holding: "Holding | None" = None, names: frozenset[str] | None = None) -> "Fleet":
    """A summary that was written before, or one that is made of reports.

    Raises:
        UsageError: it cannot be read.
    """
    from gpudoctor.fleet.aggregate.report_sources import SourceError
    from gpudoctor.fleet.aggregate.summarize import together
    from gpudoctor.fleet.summary_store import SummaryError, is_summary, read

    line = StatusLine()
    try:
        if len(paths) == 1 and os.path.isfile(paths[0]) and is_summary(paths[0]):
            return read(paths[0])
        return together(paths, hold=holding, only=names, tell=lambda number: line.tell(f"{number} reports read ..."))
    except (SourceError, SummaryError) as error:
        raise UsageError(str(error)) from None
    finally:
        line.end()


def _with_history(arguments: argparse.Namespace, fleet: "Fleet", names: frozenset[str] | None) -> "tuple[Fleet, str]":
    """The summary with what has changed, and the folder that keeps it; empty: none does.

    A summary of some of the nodes, or of reports held against a file, is not what the folder's next one is compared
    with: what it does not say would be taken for solved.

    Raises:
        UsageError: what it is compared with cannot be read.
    """
    from gpudoctor.fleet.history import compared, narrowed
    from gpudoctor.fleet.runner.run_directory import LEDGER, RUN, SUMMARY
    from gpudoctor.fleet.summary_store import SummaryError, since_last

    if arguments.since is not None:
        own = os.path.join(arguments.since, SUMMARY)
        before = _loaded([own if os.path.isfile(own) else arguments.since])
        return compared(fleet, before if names is None else narrowed(before, names)), ""
    folder = arguments.paths[0]
    of_a_run = any(os.path.isfile(os.path.join(folder, name)) for name in (LEDGER, RUN))
    if len(arguments.paths) > 1 or not of_a_run or names is not None or arguments.expect:
        return fleet, ""
    try:
        return since_last(folder, fleet), folder
    except SummaryError as error:
        complain(f"{error} It is not compared.")
        return fleet, ""


def _absent(fleet: "Fleet", names: frozenset[str] | None) -> bool:
    """Whether nodes were chosen of which there is nothing; says which."""
    if names is None:
        return False
    from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
    from gpudoctor.fleet.nodesets import fold

    counts = fleet.counts
    known = {node for state, nodes in fleet.states.items() for node in unfolded(nodes, counts[state])}
    if left := names - known:
        folded = fold(left)
        complain(f"No reports of these nodes: {folded[:_NAMED]}{'...' * (len(folded) > _NAMED)}.")
    return bool(left)


def _keep(folder: str, fleet: "Fleet") -> None:
    """Keep the summary for the next time; what was asked for is written already, so a full disk is only told."""
    from gpudoctor.fleet.summary_store import SummaryError, keep

    try:
        keep(folder, fleet)
    except SummaryError as error:
        complain(str(error))


def _code(fleet: "Fleet", unknown: bool) -> int:
    from gpudoctor.fleet.renderers.verdict import status

    word = status(fleet)
    if word == "fail":
        return FAILED
    return INCOMPLETE if unknown or word in ("incomplete", "no-gpu") else OK
