"""The grid of nodes: a cell a node, and what its script tells of a node that somebody chooses."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from gpudoctor.fleet.cause_targets import own_evidence
from gpudoctor.fleet.cause_targets import said as own
from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.renderers.nodes import FleetNode
from gpudoctor.fleet.renderers.phrases import named
from gpudoctor.fleet.summary import STATES, Fleet

# A letter for each state: colours alone are not seen by everybody, and not on paper.
LETTERS = {
    "fail": "F",
    "incomplete": "I",
    "failed": "E",
    "timed out": "T",
    "unreachable": "U",
    "refused": "R",
    "not asked": "N",
    "unreadable": "X",
    "stale": "S",
    "no-gpu": "G",
    "warn": "W",
    "cpu-only": "C",
    "pass": "✓",
}
# A browser draws as many cells in about a second; of a larger fleet the nodes that are well are counted only.
MOST = 20_000
ROW = 40  # nodes in a row, next to the name of its first
LABEL = 24  # characters of a row's name, which longer ones wrap in
SIZES = ((120, "large"), (1500, "middle"))  # up to how many nodes a cell has which size


class NodeBoard(NamedTuple):
    """What is drawn of the nodes.

    Attributes:
        legend: of each state that occurs its rank, letter, name, and how many nodes have it.
        rows: of each node that is drawn the rank and letter of its state, and its name, in rows.
        left: how many healthy nodes are not drawn.
        size: of a cell.
    """

    legend: list[tuple[int, str, str, int]]
    rows: list[list[tuple[int, str, str]]]
    left: int
    size: str


def board(fleet: Fleet, drawn: list[FleetNode]) -> NodeBoard:
    """The legend, which the script makes filters of, and the cells of the nodes that get one."""
    counts = {state: count for state, count in fleet.counts.items() if count}
    cells = [(*_mark(node.state), node.name) for node in drawn]
    return NodeBoard(
        legend=[(*_mark(state), named(state), counts[state]) for state in sorted(counts, key=_rank)],
        rows=[cells[at : at + ROW] for at in range(0, len(cells), ROW)],
        left=max(0, fleet.total - len(drawn)),
        size=next((name for most, name in SIZES if len(drawn) <= most), "small"),
    )


def shown(nodes: Iterable[FleetNode], total: int) -> list[FleetNode]:
    """The nodes that get a cell."""
    if total > MOST:
        nodes = (node for node in nodes if node.state != "pass" or node.departs or node.outliers)
    return list(islice(nodes, MOST))


def _rank(state: str) -> int:
    return STATES.index(state) if state in STATES else len(STATES)


def _mark(state: str) -> tuple[int, str]:
    return _rank(state), LETTERS.get(state, "?")


def page_data(fleet: Fleet, drawn: list[FleetNode]) -> dict[str, Any]:
    """What the script has to know: numbers that lead into lists of texts, in the order of the cells."""
    hardware = {name: place for place, name in enumerate(dict.fromkeys(node.hardware for node in drawn))}
    causes = {id(cause): place for place, cause in enumerate(fleet.causes)}
    about = [(place, one) for place, cause in enumerate(fleet.causes) for one in cause.targets]
    targets = {id(one): at for at, (_, one) in enumerate(about)}
    departures = [(drift, one) for drift in fleet.drifts for one in drift.departures]
    departs = {id(one): place for place, (_, one) in enumerate(departures)}
    spreads = {id(spread): place for place, spread in enumerate(fleet.spreads)}
    missing = {id(one): place for place, one in enumerate(fleet.missing)}
    more = {}
    for place, node in enumerate(drawn):
        said: dict[str, Any] = {}
        if node.causes:
            said["c"] = [causes[id(cause)] for cause in node.causes]
        if node.targets:
            said["t"] = [targets[id(one)] for _, one in node.targets]
        if node.departs:
            said["d"] = [departs[id(one)] for _, one in node.departs]
        if node.outliers:
            said["o"] = [[spreads[id(spread)], one.device, one.value, one.deviations] for spread, one in node.outliers]
        if node.missing:
            said["m"] = missing[id(node.missing)]
        if said:
            more[str(place)] = said
    return {
        "states": [*map(named, STATES), "unknown"],
        "hardware": list(hardware),
        "of": [hardware[node.hardware] for node in drawn],
        "causes": [[one.check, one.status, one.title] for one in fleet.causes],
        "targets": [[place, own(one), own_evidence(one)] for place, one in about],
        "departures": [[fact_name(drift.fact), one.value, drift.majority, drift.fact] for drift, one in departures],
        "spreads": [[one.figure, one.unit, one.median] for one in fleet.spreads],
        "missing": [one.why for one in fleet.missing],
        "nodes": more,
    }
