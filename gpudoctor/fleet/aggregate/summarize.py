"""Everything that is known of a fleet, out of the paths that somebody named: reports, ledgers, links between nodes."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import timedelta

import msgspec

from gpudoctor.fleet.aggregate.links import folders, with_links
from gpudoctor.fleet.aggregate.nodeset_expansion import names, unfolded
from gpudoctor.fleet.aggregate.peers import compared, with_peers
from gpudoctor.fleet.aggregate.repeated_causes import without_repeated
from gpudoctor.fleet.aggregate.report_sources import Sources
from gpudoctor.fleet.aggregate.requested_gpus import with_promised
from gpudoctor.fleet.aggregate.streaming import next_steps, summary, tallied
from gpudoctor.fleet.aggregate.tally import Hold
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import STATES, Cause, Fleet, Missing


def together(
    paths: Sequence[str],
    *,
    hold: Hold | None = None,
    only: Container[str] | None = None,
    tell: Callable[[int], None] | None = None,
    max_age: timedelta | None = None,
) -> Fleet:
    """The summary of what the paths hold.

    Args:
        paths: directories of runs or of reports, reports, files of lines.
        hold: gives the findings of a node that is compared with expectations.
        only: names of the nodes that are reported; they are compared with all. None: all.
        tell: is told now and then how many reports were read so far.
        max_age: how old a report may be; None: `report_ages.USUAL` before the newest one.

    Raises:
        SourceError: something cannot be read, or there is no report.
    """
    sources = Sources(paths)
    tally = tallied(sources, hold=hold, only=only, tell=tell, max_age=max_age)
    own = summary(tally)
    fleet = with_promised(own, sources.ledgers, tally.found_gpus, only)
    peers, plain = compared(tally.kinds), tally.cpu_only()
    del tally  # some reports are read again, and of a large fleet it is what memory holds
    fleet = without_repeated(with_peers(with_cpu_nodes(fleet, plain), peers, sources, only))
    fleet = with_links(fleet, folders(sources.ledgers), only)
    if fleet is own:
        return own
    return judged(msgspec.structs.replace(fleet, next=next_steps(fleet.causes, fleet.missing)))


def with_cpu_nodes(fleet: Fleet, plain: Container[str]) -> Fleet:
    """The summary with the nodes that need no GPU in a state of their own.

    Args:
        fleet: the summary.
        plain: nodes without a GPU that are like none that has some; one that fails for it needs one.
    """
    failing = {node for cause in fleet.causes if cause.status == "fail" for node in _having(cause)}
    empty = _of(fleet, "no-gpu")
    moved = {node for node in empty - failing if node in plain}
    return _moved(fleet, {"no-gpu": empty - moved, "cpu-only": moved}) if moved else fleet


def _moved(fleet: Fleet, sets: Mapping[str, set[str]]) -> Fleet:
    """The summary with other nodes in some states."""
    states = fleet.states | {state: fold(nodes) for state, nodes in sets.items()}
    counts = fleet.counts | {state: len(nodes) for state, nodes in sets.items()}
    order = [state for state in (*STATES, *(set(states) - set(STATES))) if counts.get(state)]
    return msgspec.structs.replace(
        fleet, states={state: states[state] for state in order}, counts={state: counts[state] for state in order}
    )


def with_absent(fleet: Fleet, chosen: Iterable[str]) -> Fleet:
    """The summary with the nodes that were chosen and of which there is nothing, as nodes without a report."""
    left = set(chosen).difference(*(_of(fleet, state) for state in fleet.states))
    if not left:
        return fleet
    why = "There is no report of it, and no run asked it. Is the name right?"
    moved = _moved(fleet, {"not asked": _of(fleet, "not asked") | left})
    missing = Missing(state="not asked", why=why, nodes=fold(left), count=len(left))
    return msgspec.structs.replace(moved, total=fleet.total + len(left), missing=(*fleet.missing, missing))


def judged(fleet: Fleet) -> Fleet:
    """The summary in which each node has the state of the worst cause that names it: some causes are in no report."""
    fail = {node for cause in fleet.causes if cause.status == "fail" for node in _having(cause)}
    warn = {node for cause in fleet.causes if cause.status == "warn" for node in _having(cause)} - fail
    healthy, warned = _of(fleet, "pass"), _of(fleet, "warn")
    failing, odd = (healthy & fail) | (warned & fail), healthy & warn
    if not failing and not odd:
        return fleet
    healthy -= failing  # in place: of a large fleet it is what memory holds
    healthy -= odd
    return _moved(fleet, {"fail": _of(fleet, "fail") | failing, "warn": (warned - failing) | odd, "pass": healthy})


def _of(fleet: Fleet, state: str) -> set[str]:
    return set(names(fleet.states.get(state, ""), fleet.counts.get(state, 0)))


def _having(cause: Cause) -> tuple[str, ...]:
    return unfolded(cause.nodes, cause.count)
