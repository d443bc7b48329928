"""The summary turned around: of each node what is said of it, for those who want a row or a cell a node."""

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import NamedTuple, TypeVar

from gpudoctor.fleet.summary import Cause, Departure, Drift, Fleet, Missing, Outlier, Spread

_T = TypeVar("_T")
# No fleet is larger: a folded text that means more is somebody's joke, and is taken for one name.
MOST = 5_000_000
_COMMAS = re.compile(r",(?![^\[\]]*\])")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_INSIDE = re.compile(r"[0-9]{1,15}(-[0-9]{1,15})?(,[0-9]{1,15}(-[0-9]{1,15})?)*")
_DIGITS = re.compile(r"(\d+)")


class Node(NamedTuple):
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


def nodes(fleet: Fleet) -> list[Node]:
    """All nodes in natural order: node2 before node10."""
    states: dict[str, str] = {}
    for state, folded in fleet.states.items():
        for name in unfolded(folded):
            states.setdefault(name, state)
    hardware = {name: group.hardware for group in fleet.groups for name in unfolded(group.nodes)}
    missing = {name: one for one in fleet.missing for name in unfolded(one.nodes)}
    causes = _by_node((cause.nodes, cause) for cause in fleet.causes)
    departs = _by_node((one.nodes, (drift, one)) for drift in fleet.drifts for one in drift.departures)
    outliers: dict[str, list[tuple[Spread, Outlier]]] = {}
    for spread in fleet.spreads:
        for one in spread.outliers:
            outliers.setdefault(one.node, []).append((spread, one))
    return [
        Node(
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


def _by_node(found: Iterable[tuple[str, _T]]) -> dict[str, list[_T]]:
    by_node: dict[str, list[_T]] = {}
    for folded, what in found:
        for name in unfolded(folded):
            by_node.setdefault(name, []).append(what)
    return by_node


def unfolded(text: str) -> tuple[str, ...]:
    """The names that a folded text of a summary means; what means nothing stands for itself.

    ClusterShell is not asked: the names come from files and other machines, and to it some are groups, which it would
    run a program for.
    """
    return tuple(name for part in _COMMAS.split(text) if part for name in _expanded(part))


def _expanded(part: str) -> Iterator[str]:
    """The names of one part: `rack[1-2]-node[01-16,20]`."""
    pieces = _BRACKETS.split(part)
    if len(pieces) == 1 or not all(map(_INSIDE.fullmatch, pieces[1::2])):
        return iter((part,))
    ranges = [[_ends(one) for one in piece.split(",")] for piece in pieces[1::2]]
    if prod(sum(high - low + 1 for low, high, _ in each) for each in ranges) > MOST:
        return iter((part,))
    choices = [
        [f"{number:0{width}d}" for low, high, width in each for number in range(low, high + 1)] for each in ranges
    ]
    return ("".join(map("".join, zip(pieces[::2], (*chosen, ""), strict=True))) for chosen in product(*choices))


def _ends(text: str) -> tuple[int, int, int]:
    """The first and the last number of a range, and their digits at least."""
    first, _, last = text.partition("-")
    low, high = int(first), int(last or first)
    return low, max(low, high), len(first)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """What sorts names as people do."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name[:200]))
