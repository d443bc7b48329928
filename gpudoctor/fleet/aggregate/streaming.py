"""Sums up the reports of a fleet: once through all of them, and what is kept does not grow with what they say."""

from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Protocol

from gpudoctor import __version__
from gpudoctor.fleet.aggregate.inputs import Sent
from gpudoctor.fleet.aggregate.missing_reports import UNREADABLE, asked
from gpudoctor.fleet.aggregate.tally import Hold, Tally
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Cause, Fleet, Missing
from gpudoctor.registry import is_rule

_OFTEN = 255


class Reports(Protocol):
    """What gives reports: `gpudoctor.fleet.aggregate.report_sources.Sources`."""

    ledgers: list[str]

    def __iter__(self) -> Iterator[Sent]:
        """Each report once."""


def summed(
    sources: Reports,
    *,
    hold: Hold | None = None,
    created: str = "",
    tell: Callable[[int], None] | None = None,
    only: Container[str] | None = None,
    max_age: timedelta | None = None,
) -> Fleet:
    """The summary of all reports; the order in which they come changes nothing.

    Args:
        sources: the reports, each node once, and the ledgers of the runs that they are of.
        hold: gives the findings of a node that is compared with expectations; they count like its report's own, and
            make it "fail" where one is. It is asked once for nodes that say the same.
        created: when the summary is made, ISO 8601; empty: now.
        tell: is told now and then how many reports were read so far; what it raises ends the reading.
        only: names of the nodes that are reported; they are compared with all. None: all.
        max_age: how old a report may be; None: `report_ages.USUAL` before the newest one.

    Raises:
        SourceError: a directory, a file of lines or a ledger cannot be read.
    """
    return summary(tallied(sources, hold=hold, tell=tell, only=only, max_age=max_age), created)


def tallied(
    sources: Reports,
    *,
    hold: Hold | None = None,
    tell: Callable[[int], None] | None = None,
    only: Container[str] | None = None,
    max_age: timedelta | None = None,
) -> Tally:
    """What is kept of all reports; the arguments and errors are those of `summed`."""
    tally = Tally(hold, only)
    for number, sent in enumerate(sources):
        tally.add(sent)
        if tell is not None and number & _OFTEN == _OFTEN:
            tell(number + 1)
    tally.age(max_age, datetime.now(timezone.utc).timestamp())
    asked(tally.absent, tally.names, sources.ledgers, only)
    return tally


def summary(tally: Tally, created: str = "") -> Fleet:
    """What is kept, as the summary of a fleet."""
    states = tally.states()
    groups, drifts, spreads = tally.grouped()
    causes, missing = tally.causes(), tally.entries()
    return Fleet(
        version=__version__,
        created=created or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        total=sum(map(len, states.values())),
        states={state: fold(nodes) for state, nodes in states.items()},
        counts={state: len(nodes) for state, nodes in states.items()},
        causes=causes,
        missing=missing,
        groups=groups,
        drifts=drifts,
        spreads=spreads,
        oldest=tally.oldest,
        newest=tally.newest,
        next=next_steps(causes, missing),
    )


def next_steps(causes: tuple[Cause, ...], missing: tuple[Missing, ...]) -> tuple[str, ...]:
    """What to type next."""
    return tuple(_next(causes, missing))


def _next(causes: tuple[Cause, ...], missing: tuple[Missing, ...]) -> Iterable[str]:
    # An expectation is named by its own file, and what is shown together has no name.
    known = next((one for one in causes if one.check and not is_rule(one.check)), None)
    if known and known.status != "advice":
        word = "worst cause" if known is causes[0] else "cause with this ID"
        explain = f"`gpudoctor explain {known.check}` explains the {word}"
        yield f"{explain}; `gpudoctor fleet report` with --cause {known.check} shows its evidence and its fix."
    stale = sum(one.count for one in missing if one.state == "stale")
    if stale:
        nodes = "1 node sends" if stale == 1 else f"{stale:,} nodes send"
        yield f"{nodes} no reports any more: check its timer or job. `--max-age DURATION` sets how old a report may be."
    silent = sum(one.count for one in missing if one.state not in (UNREADABLE, "stale", "incomplete"))
    if silent:
        yield (f"To retry the {silent:,} without a report, run the same `gpudoctor fleet run` into the same --output.")
