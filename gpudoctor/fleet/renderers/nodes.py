"""The summary turned around: of each node what is said of it, for those who want a row or a cell a node."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import repeat
from typing import NamedTuple

from gpudoctor.fleet.aggregate.nodeset_expansion import MOST, names
from gpudoctor.fleet.nodesets import sortable
from gpudoctor.fleet.summary import Cause, Departure, Drift, Fleet, HardwareGroup, Missing, NodeTargets, Outlier, Spread


class FleetNode(NamedTuple):
    """One node.

    Attributes:
        name: of the node.
        state: one of gpudoctor.fleet.summary.STATES.
        hardware: its group, or what is left of its GPUs; empty: nobody said.
        missing: why there is no report; None: there is one.
        causes: that it has, worst first.
        targets: what these are about on this node, where that was kept.
        departs: in what it departs from most others of its group.
        outliers: of its measured values.
    """

    name: str
    state: str
    hardware: str = ""
    missing: Missing | None = None
    causes: tuple[Cause, ...] = ()
    targets: tuple[tuple[Cause, NodeTargets], ...] = ()
    departs: tuple[tuple[Drift, Departure], ...] = ()
    outliers: tuple[tuple[Spread, Outlier], ...] = ()


def nodes(fleet: Fleet) -> Iterator[FleetNode]:
    """All nodes in natural order, node2 before node10, one at a time, because a fleet may be large."""
    states = tuple(fleet.states)
    state_of: dict[str, int] = {}
    for number, state in enumerate(states):
        for name in names(fleet.states[state], fleet.counts.get(state, MOST)):
            state_of.setdefault(name, number)
    order = sorted(state_of, key=sortable)
    numbers = array("H", map(state_of.__getitem__, order))
    place = state_of  # the same names, so that they are kept once
    for at, name in enumerate(order):
        place[name] = at
    groups, missing = _last(fleet.groups, place), _last(fleet.missing, place)
    causes = _members(place, ((one.nodes, one.count) for one in fleet.causes))
    about = [(cause, one) for cause in fleet.causes for one in cause.targets]
    targets = _members(place, ((one.nodes, one.count) for _, one in about))
    departures = [(drift, one) for drift in fleet.drifts for one in drift.departures]
    departs = _members(place, ((one.nodes, one.count) for _, one in departures))
    lost = {name: one.value for group in fleet.groups for one in group.fewer for name in names(one.nodes, one.count)}
    outliers: dict[str, list[tuple[Spread, Outlier]]] = {}
    for spread in fleet.spreads:
        for one in spread.outliers:
            outliers.setdefault(one.node, []).append((spread, one))
    for at, name in enumerate(order):
        yield FleetNode(
            name,
            states[numbers[at]],
            lost.get(name) or (fleet.groups[groups[at] - 1].hardware if groups[at] else ""),
            fleet.missing[missing[at] - 1] if missing[at] else None,
            tuple(fleet.causes[number] for number in causes(at)),
            tuple(about[number] for number in targets(at)),
            tuple(departures[number] for number in departs(at)),
            tuple(outliers.get(name, ())),
        )


def _last(sets: Sequence[HardwareGroup | Missing], place: Mapping[str, int]) -> array[int]:
    """Of each node the number of the last set that it is in, from 1; 0: in none."""
    found = array("I", bytes(4 * len(place)))
    for number, one in enumerate(sets, 1):
        for name in names(one.nodes, one.count):
            if name in place:
                found[place[name]] = number
    return found


def _members(place: Mapping[str, int], sets: Iterable[tuple[str, int]]) -> Callable[[int], tuple[int, ...]]:
    """What gives the sets of a node, if it is asked for the nodes in their order."""
    members = []
    for number, (folded, count) in enumerate(sets):
        its = array("I", sorted(place[name] for name in names(folded, count) if name in place))
        members.append(zip(its, repeat(number)))
    merged = merge(*members)
    coming = next(merged, None)

    def of(at: int) -> tuple[int, ...]:
        nonlocal coming
        found = []
        while coming is not None and coming[0] == at:
            found.append(coming[1])
            coming = next(merged, None)
        return tuple(found)

    return of
