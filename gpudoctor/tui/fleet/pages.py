"""The detail of a line of the list: what was found, on which nodes, and what to type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpudoctor.fleet.cause_fixes import fixes as fixes_of
from gpudoctor.fleet.cause_fixes import of_all
from gpudoctor.fleet.cause_targets import evidence, sentences
from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.summary import Cause, Change, Drift, Missing, Spread
from gpudoctor.report.fixes import label
from gpudoctor.report.numbers import amount, number
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.diagnosis.commands import one_line
from gpudoctor.tui.diagnosis.lines import INDENT, DetailLine, hanging
from gpudoctor.tui.diagnosis.page import BLANK, Page, PageCommand, commands_of_fixes, fix, found, headline
from gpudoctor.tui.fleet.box_plot import scale
from gpudoctor.tui.fleet.entries import FleetEntry, nodes
from gpudoctor.tui.fleet.states import look

COPY_NODES = "screen.copy_nodes"
MOST = 200  # values of one fact, outliers of one figure


def page(entry: FleetEntry, width: int) -> Page:
    """The detail of a line of the list.

    Args:
        entry: what is selected.
        width: columns.
    """
    about: Any = entry.about
    lines = tuple(_MAKERS[type(about)](about, width))
    return Page(lines, commands(about) if isinstance(about, Cause) else ())


def commands(cause: Cause) -> tuple[PageCommand, ...]:
    """All commands of a cause in the order in which they are shown."""
    return commands_of_fixes(fixes_of(cause), cause.check)


def fixes(cause: Cause, width: int, first: int) -> Iterator[DetailLine]:
    """The lines of a cause's fixes.

    Args:
        cause: whose fixes they are.
        width: columns.
        first: the place of their first command among those of the page.
    """
    for place, one in enumerate(fixes_of(cause)):
        yield BLANK
        yield from fix(one, label(one, place), width, first)
        first += len(one.commands) + bool(one.verify)


def short(label: str) -> str:
    """A label that leaves its text where it is."""
    return one_line(label)[: INDENT - 1]


def on_nodes(text: str, width: int, label: str = "on") -> list[DetailLine]:
    """A folded set; a click on it copies it."""
    return [line._replace(press=COPY_NODES) for line in hanging(label, text, width, "heading")]


def _cause(one: Cause, width: int) -> Iterator[DetailLine]:
    first, *more = sentences(one, MOST) or [one.title]
    yield from found(one.status, first, width)
    for sentence in more:
        yield from hanging("", sentence, width)
    yield from on_nodes(one.nodes, width)
    times = f" ({number(one.times)} findings)" if one.times > one.count else ""
    yield from hanging("", nodes(one.count) + times, width, "dim")
    yield from fixes(one, width, 0)
    yield BLANK
    yield from hanging("cause", of_all(one), width)
    for place, seen in enumerate(evidence(one, MOST)):
        yield from hanging("" if place else "evidence", seen, width, "dim")
    for place, reference in enumerate(one.references):
        yield from hanging("" if place else "see", reference, width, "dim")
    yield from hanging("id", one.check, width, "dim")


def _missing(one: Missing, width: int) -> Iterator[DetailLine]:
    message = look(one.state)
    yield from headline(message.letter, message.words, width, "warn")
    yield from on_nodes(one.nodes, width)
    yield from hanging("", f"{nodes(one.count)} without a verdict", width, "dim")
    yield BLANK
    yield from hanging("reason", one.why or "No reason was recorded.", width)


def _drift(one: Drift, width: int) -> Iterator[DetailLine]:
    yield from headline("differs", fact_name(one.fact), width, "warn")
    if fact_name(one.fact) != one.fact:
        yield from hanging("path", one.fact, width, "dim")
    yield from hanging("among", one.hardware, width, "dim")
    yield BLANK
    known = f"the {number(one.known)} nodes where it is known"
    if one.majority:
        yield from hanging("most", one.majority, width, "heading")
        yield from hanging("", f"on {number(one.count)} of {known}", width, "dim")
    else:
        yield from hanging("most", f"No value has a majority on {known}.", width)
    for place, departure in enumerate(one.departures[:MOST]):
        yield BLANK
        yield from hanging("" if place else "but", departure.value, width, "heading warn")
        yield from on_nodes(departure.nodes, width)
        yield from hanging("", nodes(departure.count), width, "dim")
    if one.departures:
        shown = min(MOST, len(one.departures)) + bool(one.majority)
        yield from _more(max(one.values, len(one.departures) + bool(one.majority)) - shown, "values", width)
    else:
        yield from hanging("", f"Nearly every node has its own value: {number(one.values)} values.", width)


def _spread(one: Spread, width: int) -> Iterator[DetailLine]:
    apart = len(one.outliers) + one.more
    yield from headline("outliers" if apart else "ok", one.figure, width, "warn" if apart else "pass")
    yield from hanging("among", f"{one.hardware}, {number(one.count)} values", width, "dim")
    yield BLANK
    yield DetailLine("", scale(one, width - INDENT))
    unit = f" {one.unit}" if one.unit else ""
    yield from hanging("median", f"{amount(one.median)}{unit}, MAD-based sigma {amount(one.deviation)}", width)
    yield from hanging("p5 to p95", f"{amount(one.low)} to {amount(one.high)}{unit}", width)
    if not apart:
        yield BLANK
        yield from hanging("", "No outliers.", width)
        return
    yield BLANK
    longest = max((len(clean(f"{o.node} {o.device}")) for o in one.outliers[:MOST]), default=0)
    for outlier in one.outliers[:MOST]:
        where = clean(f"{outlier.node} {outlier.device}").ljust(longest)
        message = f"{where}  {amount(outlier.value)}{unit}  {outlier.deviations:+.1f} sigma (MAD)"
        yield from hanging("●", message, width)
    yield from _more(max(0, len(one.outliers) - MOST) + one.more, "outliers", width)


def _change(one: Change, width: int) -> Iterator[DetailLine]:
    yield from hanging(short(one.kind), one.message, width, "heading")
    if one.nodes:
        yield from on_nodes(one.nodes, width)
        yield from hanging("", nodes(one.count), width, "dim")


def _more(count: int, what: str, width: int) -> Iterator[DetailLine]:
    if count > 0:
        yield from hanging("", f"and {number(count)} more {what}", width, "dim")


_MAKERS: dict[type[Any], Callable[[Any, int], Iterator[DetailLine]]] = {
    Cause: _cause,
    Missing: _missing,
    Drift: _drift,
    Spread: _spread,
    Change: _change,
}
