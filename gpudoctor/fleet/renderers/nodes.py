"""The summary turned around: of each node what is said of it, for those who want a row or a cell a node."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from gpudoctor.fleet.aggregate.nodeset_expansion import MOST, unfolded
from gpudoctor.fleet.nodesets import natural
from gpudoctor.fleet.summary import Cause, Departure, Drift, Fleet, Missing, Outlier, Spread

_T = TypeVar("_T")


class FleetNode(NamedTuple):
    """One node.

    Attributes:
        name: of the node.
        state: one of gpudoctor.fleet.summary.STATES.
        hardware: its group; empty: nobody said.
        missing: why there is no report; None: there is one.
        causes: that it has, worst first.
        departs: in what it departs from most others of its group.
        outliers: of its measured values.
    """

    name: str
    state: str
    hardware: str = ""
    missing: Missing | None = None
    causes: tuple[Cause, ...] = ()
    departs: tuple[tuple[Drift, Departure], ...] = ()
    outliers: tuple[tuple[Spread, Outlier], ...] = ()


def nodes(fleet: Fleet) -> list[FleetNode]:
    """All nodes in natural order: node2 before node10."""
    states: dict[str, str] = {}
    for state, folded in fleet.states.items():
        for name in unfolded(folded, fleet.counts.get(state, MOST)):
            states.setdefault(name, state)
    hardware = {name: group.hardware for group in fleet.groups for name in unfolded(group.nodes, group.count)}
    missing = {name: one for one in fleet.missing for name in unfolded(one.nodes, one.count)}
    causes = _by_node((cause.nodes, cause.count, cause) for cause in fleet.causes)
    departs = _by_node((one.nodes, one.count, (drift, one)) for drift in fleet.drifts for one in drift.departures)
    outliers: dict[str, list[tuple[Spread, Outlier]]] = {}
    for spread in fleet.spreads:
        for one in spread.outliers:
            outliers.setdefault(one.node, []).append((spread, one))
    return [
        FleetNode(
            name,
            states[name],
            hardware.get(name, ""),
            missing.get(name),
            tuple(causes.get(name, ())),
            tuple(departs.get(name, ())),
            tuple(outliers.get(name, ())),
        )
        for name in sorted(states, key=natural)
    ]


def _by_node(found: Iterable[tuple[str, int, _T]]) -> dict[str, list[_T]]:
    by_node: dict[str, list[_T]] = {}
    for folded, count, what in found:
        for name in unfolded(folded, count):
            by_node.setdefault(name, []).append(what)
    return by_node
