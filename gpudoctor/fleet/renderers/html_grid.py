"""The grid of nodes: a cell a node, and what its script tells of a node that somebody chooses."""

from collections.abc import Iterator
from typing import Any

from gpudoctor.fleet.renderers.nodes import FleetNode
from gpudoctor.fleet.renderers.phrases import named
from gpudoctor.fleet.summary import STATES, Fleet
from gpudoctor.report.numbers import number
from gpudoctor.report.renderers.svg import escaped

# A letter for each state: colours alone are not seen by everybody, and not on paper.
LETTERS = {
    "fail": "F",
    "incomplete": "?",
    "failed": "E",
    "timed out": "T",
    "unreachable": "U",
    "refused": "R",
    "not asked": "N",
    "unreadable": "X",
    "no-gpu": "G",
    "warn": "W",
    "pass": "·",
}
# A browser draws as many cells in about a second; of a larger fleet the nodes that are well are counted only.
MOST = 20_000
SIZES = ((120, "large"), (1500, "middle"))  # up to how many nodes a cell has which size


def grid(nodes: list[FleetNode]) -> Iterator[str]:
    """The legend, which the script makes filters of, the cells, and the place for what is said of one node."""
    yield '<section aria-labelledby="nodes"><h2 id="nodes">Nodes</h2>'
    yield '<ul class="legend" id="legend">'
    for state in dict.fromkeys(node.state for node in sorted(nodes, key=lambda one: _rank(one.state))):
        count = sum(node.state == state for node in nodes)
        yield f'<li data-state="{_rank(state)}">{_cell(state)} {escaped(named(state))} <b>{number(count)}</b></li>'
    yield "</ul>"
    drawn = shown(nodes)
    if len(drawn) < len(nodes):
        left = number(len(nodes) - len(drawn))
        yield f'<p class="soft">{left} healthy nodes are not shown: a page with all of them would be slow.</p>'
    yield '<div id="filter" class="filter"></div>'
    size = next((name for most, name in SIZES if len(drawn) <= most), "small")
    yield '<div class="board">'
    yield f'<div id="grid" class="grid {size}">'
    yield "".join(_cell(node.state, node.name) for node in drawn)
    yield "</div>"
    yield '<div id="said" class="said" aria-live="polite"></div>'
    yield "</div></section>"


def shown(nodes: list[FleetNode]) -> list[FleetNode]:
    """The nodes that get a cell."""
    if len(nodes) <= MOST:
        return nodes
    return [node for node in nodes if node.state != "pass" or node.departs or node.outliers][:MOST]


def _rank(state: str) -> int:
    return STATES.index(state) if state in STATES else len(STATES)


def _cell(state: str, name: str = "") -> str:
    """The title is the name, which a pointer shows without a script too."""
    title = f' title="{escaped(name)}"' if name else ""
    return f'<i class="s{_rank(state)}"{title}>{LETTERS.get(state, "?")}</i>'


def told(fleet: Fleet, nodes: list[FleetNode]) -> dict[str, Any]:
    """What the script has to know: numbers that lead into lists of texts, in the order of the cells."""
    drawn = shown(nodes)
    hardware = {name: place for place, name in enumerate(dict.fromkeys(node.hardware for node in drawn))}
    causes = {id(cause): place for place, cause in enumerate(fleet.causes)}
    departures = [(drift, one) for drift in fleet.drifts for one in drift.departures]
    departs = {id(one): place for place, (_, one) in enumerate(departures)}
    spreads = {id(spread): place for place, spread in enumerate(fleet.spreads)}
    missing = {id(one): place for place, one in enumerate(fleet.missing)}
    more = {}
    for place, node in enumerate(drawn):
        said: dict[str, Any] = {}
        if node.causes:
            said["c"] = [causes[id(cause)] for cause in node.causes]
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
        "departures": [[drift.fact, one.value, drift.majority] for drift, one in departures],
        "spreads": [[one.figure, one.unit, one.median] for one in fleet.spreads],
        "missing": [one.why for one in fleet.missing],
        "nodes": more,
    }
