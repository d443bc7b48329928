"""Everything that is known of a fleet, out of the paths that somebody named: reports, ledgers, links between nodes."""

from collections.abc import Callable, Container, Sequence

import msgspec

from gpudoctor.fleet.aggregate.links import folders, with_links
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.aggregate.peers import groups, with_peers
from gpudoctor.fleet.aggregate.repeated_causes import without_repeated
from gpudoctor.fleet.aggregate.report_sources import Sources
from gpudoctor.fleet.aggregate.requested_gpus import with_promised
from gpudoctor.fleet.aggregate.streaming import next_steps, summary, tallied
from gpudoctor.fleet.aggregate.tally import Hold
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import STATES, Cause, Fleet


def together(
    paths: Sequence[str],
    *,
    hold: Hold | None = None,
    only: Container[str] | None = None,
    tell: Callable[[int], None] | None = None,
) -> Fleet:
    """The summary of what the paths hold.

    Args:
        paths: directories of runs or of reports, reports, files of lines.
        hold: gives the findings of a node that is compared with expectations.
        only: names of the nodes that count; None: all.
        tell: is told now and then how many reports were read so far.

    Raises:
        SourceError: something cannot be read, or there is no report.
    """
    sources = Sources(paths)
    tally = tallied(sources, hold=hold, only=only, tell=tell)
    own = summary(tally)
    fleet = with_promised(own, sources.ledgers, tally.found_gpus, only)
    short = list(groups(tally.numbered()))
    del tally  # some reports are read again, and of a large fleet it is what memory holds
    fleet = without_repeated(with_peers(fleet, short, sources))
    fleet = with_links(fleet, folders(sources.ledgers), only)
    if fleet is own:
        return own
    return judged(msgspec.structs.replace(fleet, next=next_steps(fleet.causes, fleet.missing)))


def judged(fleet: Fleet) -> Fleet:
    """The summary in which each node is as ill as the worst cause that names it: some causes are in no report."""
    fail = {node for cause in fleet.causes if cause.status == "fail" for node in _having(cause)}
    warn = {node for cause in fleet.causes if cause.status == "warn" for node in _having(cause)}
    states = {state: set(unfolded(folded, fleet.counts[state])) for state, folded in fleet.states.items()}
    ill = (states.get("pass", set()) | states.get("warn", set())) & fail
    odd = (states.get("pass", set()) & warn) - ill
    if not ill and not odd:
        return fleet
    states["fail"] = states.get("fail", set()) | ill
    states["warn"] = states.get("warn", set()) - ill | odd
    states["pass"] = states.get("pass", set()) - ill - odd
    order = [state for state in (*STATES, *(set(states) - set(STATES))) if states.get(state)]
    return msgspec.structs.replace(
        fleet,
        states={state: fold(states[state]) for state in order},
        counts={state: len(states[state]) for state in order},
    )


def _having(cause: Cause) -> tuple[str, ...]:
    return unfolded(cause.nodes, cause.count)
