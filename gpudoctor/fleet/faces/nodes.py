"""The summary turned around: of each node what is said of it, for those who want a row or a cell a node."""

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from gpudoctor.fleet.summary import Cause, Departure, Drift, Fleet, Missing, Outlier, Spread

_T = TypeVar("_T")
# No fleet is larger: a folded text that means more is somebody's joke, and is taken for one name.
MOST = 5_000_000
_RANGES = re.compile(r"(\d{1,18})-(\d{1,18})")
_DIGITS = re.compile(r"(\d+)")
# Signs that mean something to ClusterShell besides brackets: groups, which it would run a program for, and sets' sums.
_MEANING = re.compile(r"[@*&!^]")


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
    """The names that a folded text of a summary means; what is none that can be read stands for itself.

    No group is looked up: the names come from files and other machines, and a group is a command to run.
    """
    if not text:
        return ()
    if "[" not in text or _MEANING.search(text) or _size(text) > MOST:
        return tuple(one for one in text.split(",") if one) or (text,)
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, ValueError):  # a lone surrogate is no text to it
        return tuple(text.split(","))


def _size(text: str) -> int:
    """How many names a text means at most: ranges multiply where a name holds several."""
    total = 0
    for part in re.split(r",(?![^\[]*\])", text):
        size = 1
        for inside in re.findall(r"\[([^\]]*)\]", part):
            size *= sum(max(1, int(b) - int(a) + 1) for a, b in _RANGES.findall(inside)) + inside.count(",") + 1
        total += size
    return total


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """What sorts names as people do."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name[:200]))
