"""The parts of the text that compare: nodes with their peers, devices with their peers, now with earlier."""

from rich.console import Console
from rich.text import Text

from gpudoctor.fleet.explained import drifts as unexplained
from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.renderers.lines import bar, folded_lines
from gpudoctor.fleet.renderers.phrases import MARKS, UNCHANGED, agreement, balance, first_changes, often_apart
from gpudoctor.fleet.summary import Change, Drift, Fleet, Spread
from gpudoctor.report.numbers import amount, moment, number
from gpudoctor.report.sanitize import clean, wrapped

# What a screen holds; --all shows the rest.
DRIFTS, VALUES, SPREADS, OUTLIERS, CHANGES, NODE_LINES = 15, 6, 8, 5, 15, 2
BAR = 41
BESIDE = 20  # columns of a value that its nodes stand next to


def section(out: Console, title: str) -> None:
    """Begin a section."""
    out.print()
    out.print(Text(clean(title), "bold"), soft_wrap=True)


def listed(out: Console, nodes: str, count: int, everything: bool, before: str = "    ") -> None:
    """How many nodes, and which, after some words."""
    head = f"{before}{number(count):>6}  "
    room = max(20, out.width - len(head))
    for line in folded_lines(nodes, room, 0 if everything else NODE_LINES):
        out.print(Text.assemble(head, (line, "cyan")), soft_wrap=True)
        head = " " * len(head)


def drifts(out: Console, fleet: Fleet, everything: bool) -> None:
    """Configuration drift."""
    found = unexplained(fleet)
    shown = found if everything else found[:DRIFTS]
    before = None
    for drift in shown:
        if drift.hardware != before:
            section(out, f"Configuration drift: {drift.hardware}")
            before = drift.hardware
        _drift(out, drift, everything)
    if hidden := len(found) - len(shown):
        out.print(Text(f"  And {number(hidden)} more facts (--all shows them)."), soft_wrap=True)


def _drift(out: Console, drift: Drift, everything: bool) -> None:
    name = fact_name(drift.fact)
    path = f" [{drift.fact}]" if everything and name != drift.fact else ""  # as gpudoctor.toml names it
    head, *more = wrapped(f"{name}{path}: {agreement(drift)}", out.width - 4)
    out.print(Text("  " + head), soft_wrap=True)
    for line in more:
        out.print(Text("    " + line), soft_wrap=True)
    shown = drift.departures if everything else drift.departures[:VALUES]
    for one in shown:
        value = clean(one.value).replace("\n", " ") or '""'
        beside = len(value) <= BESIDE
        for line in [] if beside else wrapped(value, out.width - 4):
            out.print(Text("    " + line), soft_wrap=True)
        listed(out, one.nodes, one.count, everything, f"    {value:<{BESIDE}}" if beside else "      ")
    if drift.departures and (hidden := drift.values - len(shown) - bool(drift.majority)) > 0:
        out.print(Text(f"    and {number(hidden)} more values"), soft_wrap=True)


def spreads(out: Console, fleet: Fleet, everything: bool) -> None:
    """Those with outliers; all of them where everything is wanted."""
    apart = [one for one in fleet.spreads if one.outliers]
    shown = list(fleet.spreads) if everything else apart[:SPREADS]
    if shown:
        section(out, "Outliers (distance from the median in sigma = 1.4826 x MAD)")
        _often(out, fleet)
    for spread in shown:
        _spread(out, spread, everything)
    if hidden := len(fleet.spreads) - len(shown):
        words = "figure" if hidden == 1 else "figures"
        if not fleet.spreads or not shown:
            out.print()
        out.print(
            Text(f"  {number(hidden)} {'more ' * bool(shown)}{words} without outliers (--all shows them)."),
            soft_wrap=True,
        )


def _often(out: Console, fleet: Fleet) -> None:
    if often := often_apart(fleet):
        devices = ", ".join(f"{node} {device} ({count})" for node, device, count in often)
        for line in wrapped(f"Outliers in several figures: {devices}", out.width - 2):
            out.print(Text("  " + line, "bold"), soft_wrap=True)


def _spread(out: Console, spread: Spread, everything: bool) -> None:
    count = f"{number(spread.count)} value{'s' * (spread.count != 1)}"
    for line in wrapped(f"{spread.figure} in {spread.unit}, {count} of {spread.hardware}", out.width - 2):
        out.print(Text("  " + line), soft_wrap=True)
    five = [amount(v) for v in (spread.least, spread.low, spread.median, spread.high, spread.most)]
    wide = max(8, *map(len, five))
    names = ("min", "p5", "median", "p95", "max")
    out.print(Text("    " + " ".join(f"{name:>{wide}}" for name in names), "dim"), soft_wrap=True)
    out.print(Text("    " + " ".join(f"{value:>{wide}}" for value in five)), soft_wrap=True)
    out.print(Text("    " + bar(spread, BAR), "cyan"), soft_wrap=True)
    shown = spread.outliers if everything else spread.outliers[:OUTLIERS]
    for one in shown:
        message = f"{one.node} {one.device}: {amount(one.value)} ({one.deviations:+.1f} sigma)"
        for line in wrapped(message, out.width - 4):
            out.print(Text("    " + line, "bold"), soft_wrap=True)
    if hidden := len(spread.outliers) - len(shown) + spread.more:
        out.print(Text(f"    and {number(hidden)} more"), soft_wrap=True)


def changes(out: Console, fleet: Fleet, everything: bool) -> None:
    """What has changed since an earlier summary."""
    if fleet.since:
        summary = balance(fleet)
        section(out, f"Since {moment(fleet.since)}{': ' if summary else ''}{summary}")
        if not fleet.changes:
            out.print(Text(f"  {UNCHANGED}"), soft_wrap=True)
    elif fleet.changes:
        section(out, "Changed")
    shown = fleet.changes if everything else first_changes(fleet, CHANGES)
    for change in shown:
        _change(out, change, everything)
    if hidden := len(fleet.changes) - len(shown):
        out.print(Text(f"  And {number(hidden)} more (--all shows them)."), soft_wrap=True)


def _change(out: Console, change: Change, everything: bool) -> None:
    mark = MARKS.get(change.kind, "*")
    for line in wrapped(change.message, out.width - 4):
        out.print(Text(f"  {mark} {line}"), soft_wrap=True)
        mark = " "
    if change.nodes:
        listed(out, change.nodes, change.count, everything)
