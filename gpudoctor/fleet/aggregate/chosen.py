"""The report on some nodes, which were compared with all: groups, drift and outliers without the others' names."""

from collections.abc import Container, Iterable, Iterator
from typing import TypeAlias

import msgspec

from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Departure, Drift, HardwareGroup, Spread

Groups: TypeAlias = tuple[HardwareGroup, ...]
Drifts: TypeAlias = tuple[Drift, ...]
Spreads: TypeAlias = tuple[Spread, ...]


def limited(
    groups: Groups, drifts: Drifts, spreads: Spreads, only: Container[str] | None
) -> tuple[Groups, Drifts, Spreads]:
    """The groups, the drift and the spreads of which some nodes are a part; majorities and medians stay those of all.

    Args:
        groups: of all nodes.
        drifts: of all nodes.
        spreads: of all nodes, with the outliers of the chosen ones.
        only: the chosen nodes; None: all.
    """
    if only is None:
        return groups, drifts, spreads
    left = []
    for group in groups:
        if nodes := _chosen(group.nodes, group.count, only):
            fewer = tuple(_departures(group.fewer, only))
            left.append(msgspec.structs.replace(group, nodes=fold(nodes), count=len(nodes), fewer=fewer))
    labels = {group.hardware for group in left}
    found = (
        msgspec.structs.replace(drift, departures=tuple(_departures(drift.departures, only)))
        for drift in drifts
        if drift.hardware in labels
    )
    return (
        tuple(left),
        tuple(drift for drift in found if drift.departures),
        tuple(spread for spread in spreads if spread.hardware in labels),
    )


def _departures(found: Iterable[Departure], only: Container[str]) -> Iterator[Departure]:
    for one in found:
        if nodes := _chosen(one.nodes, one.count, only):
            yield Departure(value=one.value, nodes=fold(nodes), count=len(nodes))


def _chosen(folded: str, count: int, only: Container[str]) -> list[str]:
    return [node for node in unfolded(folded, count) if node in only]
