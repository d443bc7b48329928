"""What is said of a fleet as lines of a list: causes, nodes without a report, drift, measured values, changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.summary import Cause, Change, Drift, Fleet, Missing, Spread
from gpudoctor.report.numbers import amount, number
from gpudoctor.tui.diagnosis.items import WORDS
from gpudoctor.tui.fleet.states import look

CAUSES, MISSING, DRIFT, SPREADS, CHANGES = (
    "Causes",
    "Without a verdict",
    "Configuration drift",
    "Measurements",
    "Changes",
)
KINDS = {
    "worse": ("worse", "fail"),
    "better": ("better", "pass"),
    "appeared": ("new", "advice"),
    "vanished": ("gone", "warn"),
    "cause": ("cause", "fail"),
    "solved": ("solved", "pass"),
    "fact": ("fact", "advice"),
    "figure": ("figure", "advice"),
}
About = Cause | Missing | Drift | Spread | Change


class FleetEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list.

    Attributes:
        key: names it from one reading to the next.
        group: the heading under which it stands.
        label: a word of at most seven signs.
        style: of the label; a class of style.tcss.
        title: what it says.
        below: the line beneath.
        sets: the folded sets of its nodes, each with how many these are.
        about: what it is made of.
    """

    key: str
    group: str
    label: str
    style: str
    title: str
    below: str
    sets: tuple[tuple[str, int], ...]
    about: About


def entries(fleet: Fleet) -> list[FleetEntry]:
    """All lines in their order; what is worth a look comes first in each group."""
    found = [*_causes(fleet.causes), *_missing(fleet.missing), *_drifts(fleet.drifts)]
    spreads = sorted(fleet.spreads, key=lambda spread: not spread.outliers)
    return [*found, *_spreads(spreads), *_changes(fleet.changes)]


def nodes(count: int) -> str:
    """So many nodes, in words."""
    return f"{number(count)} node{'s' * (count != 1)}"


def _causes(causes: Iterable[Cause]) -> Iterator[FleetEntry]:
    for one in causes:
        times = f", {number(one.times)} findings" if one.times > one.count else ""
        yield FleetEntry(
            key=f"cause {one.check} {one.cause} {one.nodes}",
            group=CAUSES,
            label=WORDS.get(one.status, one.status),
            style=one.status if one.status in ("fail", "warn", "advice") else "dim",
            title=one.title,
            below=f"{nodes(one.count)}{times}  {one.nodes}",
            sets=((one.nodes, one.count),),
            about=one,
        )


def _missing(missing: Iterable[Missing]) -> Iterator[FleetEntry]:
    for one in missing:
        title = f"{look(one.state).words}: {one.why}" if one.why else look(one.state).words
        yield FleetEntry(
            key=f"missing {one.state} {one.why}",
            group=MISSING,
            label=look(one.state).letter,
            style="label",
            title=title,
            below=f"{nodes(one.count)}  {one.nodes}",
            sets=((one.nodes, one.count),),
            about=one,
        )


def _drifts(drifts: Iterable[Drift]) -> Iterator[FleetEntry]:
    for one in drifts:
        count = sum(departure.count for departure in one.departures)
        others = "; ".join(f"{departure.value}: {departure.nodes}" for departure in one.departures)
        most = (
            f"{one.majority} on {number(one.count)} of {number(one.known)}"
            if one.majority
            else "no value has a majority"
        )
        yield FleetEntry(
            key=f"drift {one.hardware} {one.fact}",
            group=DRIFT,
            label="differs",
            style="warn",
            title=f"{fact_name(one.fact)}: {most}",
            below=f"{nodes(count)} differ{'s' * (count == 1)}  {others}"
            if others
            else f"{number(one.values)} values, nearly one for each node",
            sets=tuple((departure.nodes, departure.count) for departure in one.departures),
            about=one,
        )


def _spreads(spreads: Iterable[Spread]) -> Iterator[FleetEntry]:
    for one in spreads:
        apart = len(one.outliers) + one.more
        names = ", ".join(dict.fromkeys(outlier.node for outlier in one.outliers))
        stands = f"{number(apart)} of {number(one.count)} {'is an outlier' if apart == 1 else 'are outliers'}"
        yield FleetEntry(
            key=f"spread {one.hardware} {one.figure}",
            group=SPREADS,
            label="outlier" if apart else "ok",
            style="warn" if apart else "dim",
            title=f"{one.figure}: {amount(one.median)} {one.unit}".rstrip(),
            below=f"{stands}  {names}" if apart else f"{number(one.count)} values, no outliers",
            sets=tuple(dict.fromkeys((outlier.node, 1) for outlier in one.outliers)),
            about=one,
        )


def _changes(changes: Iterable[Change]) -> Iterator[FleetEntry]:
    for one in changes:
        label, style = KINDS.get(one.kind, (one.kind, "dim"))
        yield FleetEntry(
            key=f"change {one.kind} {one.message} {one.nodes}",
            group=CHANGES,
            label=label,
            style=style,
            title=one.message,
            below=f"{nodes(one.count)}  {one.nodes}" if one.count else "",
            sets=((one.nodes, one.count),) if one.nodes else (),
            about=one,
        )


def heading(group: str, shown: Iterable[FleetEntry], fleet: Fleet) -> str:
    """The heading of a group."""
    some = list(shown)
    if group == MISSING:
        return f"{group} ({nodes(sum(one.about.count for one in some if isinstance(one.about, Missing)))})"
    since = f" since {fleet.since}" if group == CHANGES and fleet.since else ""
    return f"{group}{since} ({number(len(some))})"
