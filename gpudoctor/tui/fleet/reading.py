"""Reads a fleet, and the report of one of its nodes; what takes long, and is done next to the application."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpudoctor.fleet.summary import Fleet
    from gpudoctor.report.model import Report
    from gpudoctor.tui.fleet.entries import FleetEntry
    from gpudoctor.tui.fleet.nodes import Nodes


class Read(NamedTuple):
    """What is shown of a fleet.

    Attributes:
        fleet: its summary.
        nodes: of the summary.
        entries: what is said of it.
        note: what could not be said, in a sentence; empty: nothing.
    """

    fleet: Fleet
    nodes: Nodes
    entries: list[FleetEntry]
    note: str = ""


def read(paths: Sequence[str], tell: Callable[[int], None]) -> Read | str:
    """A fleet, or the sentence that says why it cannot be read.

    Args:
        paths: directories and files with reports.
        tell: is told how many reports were read so far; what it raises ends the reading.
    """
    from gpudoctor.fleet.aggregate.report_sources import SourceError
    from gpudoctor.fleet.explained import without_echoes
    from gpudoctor.fleet.masking import harmless
    from gpudoctor.fleet.summary_store import SummaryError
    from gpudoctor.tui.fleet.entries import entries
    from gpudoctor.tui.fleet.nodes import Nodes

    try:
        fleet, note = with_history(paths, summary(paths, tell))
    except (SourceError, SummaryError) as error:
        return str(error)
    fleet = without_echoes(harmless(fleet))
    return Read(fleet, Nodes(fleet), entries(fleet), note)


def summary(paths: Sequence[str], tell: Callable[[int], None]) -> Fleet:
    """The summary of what is there: reports, ledgers, links between nodes.

    Args:
        paths: directories and files with reports; or a single summary, which is taken as it is.
        tell: is told how many reports were read so far; what it raises ends the reading.

    Raises:
        SourceError: the reports cannot be read.
        SummaryError: a summary cannot be read.
    """
    from gpudoctor.fleet.aggregate.summarize import together
    from gpudoctor.fleet.summary_store import is_summary
    from gpudoctor.fleet.summary_store import read as read_summary

    alone = paths[0] if len(paths) == 1 else ""
    if os.path.isfile(alone) and is_summary(alone):
        return read_summary(alone)
    return together(paths, tell=tell)


def with_history(paths: Sequence[str], fleet: Fleet) -> tuple[Fleet, str]:
    """The summary with what has changed since the one that a run's directory keeps, or why that cannot be said."""
    from gpudoctor.fleet.summary_store import SummaryError, since_last

    if len(paths) > 1 or not os.path.isdir(paths[0]):
        return fleet, ""
    try:
        return since_last(paths[0], fleet), ""
    except SummaryError as error:
        return fleet, f"{error} No comparison with it is shown."


def fault(error: Exception) -> str:
    """A fault of ours in a sentence."""
    return f"gpudoctor itself failed: {type(error).__name__}: {error}."


def report(paths: Sequence[str], node: str) -> tuple[str, Report] | str:
    """Where a node's newest report is, and what is in it; or the sentence that says why there is none.

    Args:
        paths: directories and files with reports.
        node: its name.
    """
    from gpudoctor.comparison import loaded
    from gpudoctor.facts.facts_file import FactsFileError
    from gpudoctor.fleet.aggregate.report_sources import SourceError, Sources

    try:
        sent = Sources(paths).of(node)
        if sent is None:
            return f"There is no report of {node} in {', '.join(paths)}."
        return sent.why or (sent.path, loaded(sent.data, sent.path).report)
    except (FactsFileError, SourceError) as error:
        return str(error)
    except Exception as error:  # a fault of ours must not end the thread without a word
        return fault(error)
