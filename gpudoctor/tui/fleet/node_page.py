"""The detail of one node: its state, its causes, where it differs from its peers."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.fleet.cause_fixes import of_node
from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.summary import REPORTED, Cause, Drift, Fleet
from gpudoctor.report.numbers import amount, number
from gpudoctor.tui.diagnosis.items import WORDS
from gpudoctor.tui.diagnosis.lines import DetailLine, hanging
from gpudoctor.tui.diagnosis.page import BLANK, Page, PageCommand, headline
from gpudoctor.tui.fleet.nodes import Nodes
from gpudoctor.tui.fleet.pages import commands, fixes, short
from gpudoctor.tui.fleet.states import look

OPEN = "screen.open_node"


def page(fleet: Fleet, nodes: Nodes, node: int, width: int) -> Page:
    """The detail of a node; its commands are those of its causes.

    Args:
        fleet: all of it.
        nodes: of the fleet.
        node: its place.
        width: columns.
    """
    found: list[PageCommand] = []
    lines = list(_head(fleet, nodes, node, width))
    for cause in fleet.causes:
        if node in nodes.of(cause.nodes, cause.count):
            cause = of_node(cause, nodes.names[node])
            lines += [BLANK, *_cause(cause, width, len(found))]
            first = found[-1].fix + 1 if found else 0
            found += [one._replace(fix=first + one.fix) for one in commands(cause)]
    lines += [*_departures(fleet, nodes, node, width), *_outliers(fleet, nodes.names[node], width)]
    return Page(tuple(lines), tuple(found))


def _head(fleet: Fleet, nodes: Nodes, node: int, width: int) -> Iterator[DetailLine]:
    name, state = nodes.names[node], nodes.states[node]
    status = {"fail": "fail", "warn": "warn", "pass": "pass"}.get(state, "warn")
    yield from headline("node", name, width, status)
    yield from hanging("state", look(state).words, width, f"heading {status}")
    for one in fleet.missing:
        if node in nodes.of(one.nodes, one.count):
            yield from hanging("reason", one.why or "No reason was recorded.", width)
    for group in fleet.groups:
        if node in nodes.of(group.nodes, group.count):
            lost = (one.value for one in group.fewer if node in nodes.of(one.nodes, one.count))
            yield from hanging("hardware", next(lost, group.hardware), width, "dim")
    if state in REPORTED:
        yield from (line._replace(press=OPEN) for line in hanging("enter", "opens its own report.", width, "dim"))
    if state == "pass":
        yield from hanging("", "This node is healthy.", width, "pass")


def _cause(cause: Cause, width: int, first: int) -> Iterator[DetailLine]:
    yield from headline(short(WORDS.get(cause.status, cause.status)), cause.title, width, cause.status)
    if cause.message:
        yield from hanging("", cause.message, width)
    yield from hanging("cause", cause.cause, width)
    for place, seen in enumerate(cause.evidence):
        yield from hanging("" if place else "evidence", seen, width, "dim")
    yield from fixes(cause, width, first)


def _departures(fleet: Fleet, nodes: Nodes, node: int, width: int) -> Iterator[DetailLine]:
    for drift, value in _departs(fleet, nodes, node):
        yield BLANK
        yield from hanging("differs", f"{fact_name(drift.fact)}: {value}", width, "heading warn")
        most = (
            f"{number(drift.count)} of {number(drift.known)} have {drift.majority}" if drift.majority else "No majority"
        )
        yield from hanging("", f"{most} ({drift.hardware}).", width, "dim")


def _departs(fleet: Fleet, nodes: Nodes, node: int) -> Iterator[tuple[Drift, str]]:
    for drift in fleet.drifts:
        for departure in drift.departures:
            if node in nodes.of(departure.nodes, departure.count):
                yield drift, departure.value


def _outliers(fleet: Fleet, name: str, width: int) -> Iterator[DetailLine]:
    for spread in fleet.spreads:
        for one in spread.outliers:
            if one.node == name:
                yield BLANK
                unit = f" {spread.unit}" if spread.unit else ""
                message = f"{one.device}, {spread.figure}: {amount(one.value)}{unit}"
                yield from hanging("outlier", message, width, "heading warn")
                yield from hanging("", f"median {amount(spread.median)}{unit}, {_away(one.deviations)}", width, "dim")


def _away(deviations: float) -> str:
    side = "below" if deviations < 0 else "above"
    return f"{abs(deviations):.1f} sigma (MAD) {side}"
