"""`gpudoctor fleet report DIR|FILE...`: what the reports of many machines say together."""

import argparse
import os
import re
from datetime import timedelta
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
_UNITS = {
    "s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}  # fmt: skip
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
    one.add_argument(
        "--nodes", metavar="SET", help="only these nodes: node[01-16,20]; they are compared with all that are there"
    )
    one.add_argument(
        "--max-age",
        type=_duration,
        metavar="DURATION",
        help="how old a report may be: 36h, 2d, 90m; an older one shows no healthy node (default: 7d before the newest "
        "report)",
    )
    one.add_argument(
        "--fail-on",
        choices=("fail", "warn", "drift", "never"),
        default="fail",
        help="what makes the exit code 1 (default: fail); drift: also configuration drift, outliers and warnings; "
        "never: exit code is always 0",
    )
    options(one)
    one.set_defaults(run=run)


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,9})([smhdw])", text)
    if not found:
        raise UsageError(f"--max-age takes a number and a unit, such as 90m, 36h or 2d, not {text}.")
    return int(found[1]) * _UNITS[found[2]]


def run(arguments: argparse.Namespace) -> int:
    """Sum up and write; gives the exit code."""
    form = chosen(arguments)
    holding = _holding(arguments)
    names = _names(arguments)
    fleet = _read(arguments, holding, names)
    if names is not None:
        from gpudoctor.fleet.aggregate.summarize import with_absent

        fleet = with_absent(fleet, names)
    fleet, kept = _with_history(arguments, fleet, names)
    if holding is not None:
        import msgspec

        fleet = msgspec.structs.replace(fleet, next=(*fleet.next, *holding.unheld()))
    deliver(fleet, form)
    if kept:
        _keep(kept, fleet)
    code = _code(fleet, holding is not None and holding.open, arguments.fail_on)
    if code == FAILED and (why := _why_failed(fleet, arguments.fail_on)):
        complain(f"Exit code 1 (--fail-on {arguments.fail_on}): {why}.")
    return code


def _holding(arguments: argparse.Namespace) -> "Holding | None":
    """What holds reports against the files that were named.

    Raises:
        UsageError: one cannot be used.
    """
    if not arguments.expect:
        return None
    from gpudoctor.cli.expect_options import in_time
    from gpudoctor.expect import ExpectFileError
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
        for option in ("--expect", "--nodes", "--max-age"):
            if getattr(arguments, option[2:].replace("-", "_")):
                raise UsageError(f"{option} needs the reports themselves: {arguments.paths[0]} is a summary.")
    fleet = _loaded(arguments.paths, holding, names, arguments.max_age)
    if names is not None and not fleet.total:
        raise UsageError(
            f"No reports of the nodes {arguments.nodes[:_NAMED]}; there are {_all_nodes(arguments.paths)}."
        )
    return fleet


def _all_nodes(paths: list[str]) -> str:
    """The nodes of which there are reports, as many as a sentence names."""
    from gpudoctor.fleet.aggregate.nodeset_expansion import shortened
    from gpudoctor.fleet.aggregate.report_sources import Sources
    from gpudoctor.fleet.nodesets import fold

    return shortened(fold(set(Sources(paths).names())), _NAMED)


def _loaded(
    paths: list[str],
    holding: "Holding | None" = None,
    names: frozenset[str] | None = None,
    max_age: timedelta | None = None,
) -> "Fleet":
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
        return together(
            paths, hold=holding, only=names, tell=lambda number: line.tell(f"{number:,} reports read ..."),
            max_age=max_age,
        )  # fmt: skip
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
    import msgspec

    from gpudoctor.fleet.history import compared, narrowed
    from gpudoctor.fleet.runner.run_directory import LEDGER, RUN, SUMMARY
    from gpudoctor.fleet.summary_store import SummaryError, since_last

    if arguments.since is not None:
        own = os.path.join(arguments.since, SUMMARY)
        before = _loaded([own if os.path.isfile(own) else arguments.since])
        if names is None:
            return compared(fleet, before), ""
        # What is said of all nodes of a kind says nothing of some of them.
        some = compared(fleet, narrowed(before, names))
        only = "With --nodes, --since compares states and causes; not configuration, and no medians."
        return msgspec.structs.replace(some, next=(*some.next, only)), ""
    folder = arguments.paths[0]
    of_a_run = any(os.path.isfile(os.path.join(folder, name)) for name in (LEDGER, RUN))
    if len(arguments.paths) > 1 or not of_a_run or names is not None or arguments.expect:
        return fleet, ""
    try:
        return since_last(folder, fleet), folder
    except SummaryError as error:
        complain(f"{error} It is not compared.")
        return fleet, ""


def _keep(folder: str, fleet: "Fleet") -> None:
    """Keep the summary for the next time; what was asked for is written already, so a full disk is only told."""
    from gpudoctor.fleet.summary_store import SummaryError, keep

    try:
        keep(folder, fleet)
    except SummaryError as error:
        complain(str(error))


def _why_failed(fleet: "Fleet", fail_on: str) -> str:
    """What makes the exit code 1 where no node fails, as the verdict does not say it; empty: the verdict says it."""
    from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
    from gpudoctor.fleet.renderers.phrases import apart, count_of
    from gpudoctor.fleet.renderers.verdict import status

    if status(fleet) == "fail":
        return ""
    warned = {node for one in fleet.causes if one.status == "warn" for node in unfolded(one.nodes, one.count)}
    nodes = f"warnings on {count_of(len(warned))}" if warned else ""
    return "; ".join(part for part in (nodes, apart(fleet) if fail_on == "drift" else "") if part)


def _code(fleet: "Fleet", unknown: bool, fail_on: str) -> int:
    from gpudoctor.fleet.explained import drifts
    from gpudoctor.fleet.renderers.verdict import status

    if fail_on == "never":
        return OK
    word = status(fleet)
    if word == "fail" or (fail_on in ("warn", "drift") and any(one.status == "warn" for one in fleet.causes)):
        return FAILED
    if fail_on == "drift" and (drifts(fleet) or any(one.outliers for one in fleet.spreads)):
        return FAILED
    return INCOMPLETE if unknown or word in ("incomplete", "no-gpu") else OK
