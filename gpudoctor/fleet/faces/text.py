"""The summary for a person at a terminal: how many are well first, then what to mend, and where."""

from collections import Counter

from rich.console import Console
from rich.text import Text

from gpudoctor.fleet.faces.lines import bar, folded_lines
from gpudoctor.fleet.faces.verdict import amount, number, sentence, states, status
from gpudoctor.fleet.summary import Cause, Change, Drift, Fleet, Spread
from gpudoctor.report.clean import clean, wrapped
from gpudoctor.report.model import FindingEntry
from gpudoctor.report.text import INDENT, LABEL, console, finding, labelled, written

STYLE = {"fail": "bold red", "warn": "bold yellow", "pass": "bold green"}
UNKNOWN = "bold magenta"
# What a screen holds; --all shows the rest.
CAUSES, DRIFTS, SPREADS, OUTLIERS, CHANGES, NODE_LINES = 20, 15, 8, 5, 15, 2
BAR = 41
BESIDE = 20  # columns of a value that its nodes stand beside
MARKS = {"worse": "-", "better": "+", "solved": "+", "appeared": "+", "vanished": "-", "cause": "-"}


def render(fleet: Fleet, width: int | None = None, colour: bool = False, everything: bool = False) -> str:
    """The summary as text.

    Args:
        fleet: what to show.
        width: columns; None: 80.
        colour: whether ANSI colours are wanted.
        everything: also what is cut where there is much of it: every cause, fact and figure, each node's name.
    """
    out = console(width, colour)
    _head(out, fleet, everything)
    _causes(out, fleet, everything)
    _missing(out, fleet, everything)
    _drifts(out, fleet, everything)
    _spreads(out, fleet, everything)
    _changes(out, fleet, everything)
    _end(out, fleet)
    return written(out)


def _head(out: Console, fleet: Fleet, everything: bool) -> None:
    """The verdict, when it was asked, and which nodes are in which state."""
    _verdict(out, fleet)
    if said := when(fleet):
        labelled(out, "when", said, "dim")
    for group in fleet.groups if everything else fleet.groups[:DRIFTS]:
        _nodes(out, "like" if group is fleet.groups[0] else "", f"{count_of(group.count)} with {group.hardware}")
    shown = [one for one in states(fleet) if one[0] != "pass"]
    wide = max((len(clean(state)) for state, _, _ in shown), default=0)
    for place, (state, count, nodes) in enumerate(shown):
        head = f"{clean(state)[: INDENT * 2]:<{min(wide, INDENT * 2)}} {number(count):>6}  "
        _nodes(out, "nodes" if place == 0 else "", head, nodes, everything, STYLE.get(state, UNKNOWN))


def when(fleet: Fleet) -> str:
    """When the reports were made."""
    if not fleet.newest:
        return ""
    between = f"{moment(fleet.oldest)} to " if fleet.oldest not in ("", fleet.newest) else ""
    return f"reports of {between}{moment(fleet.newest)}"


def moment(text: str) -> str:
    """A time as a person reads it."""
    return text.replace("T", " ").removesuffix("Z").strip()[:19] + " UTC" if text.endswith("Z") else text


def _nodes(out: Console, label: str, head: str, folded: str = "", everything: bool = False, style: str = "") -> None:
    """A label, some words, and nodes after them that keep to their column."""
    room = max(20, out.width - INDENT - len(head))
    lines = folded_lines(folded, room, 0 if everything else NODE_LINES) if folded else [""]
    for line in lines:
        parts = Text.assemble((f"{label:<{INDENT}}", "bold blue"), (clean(head).replace("\n", " "), style), line)
        out.print(parts, soft_wrap=True)
        label, head = "", " " * len(head)


def _causes(out: Console, fleet: Fleet, everything: bool) -> None:
    shown = fleet.causes if everything else fleet.causes[:CAUSES]
    for cause in shown:
        _cause(out, cause, everything)
    if hidden := len(fleet.causes) - len(shown):
        out.print()
        out.print(Text(f"And {number(hidden)} more (--all shows them)."), soft_wrap=True)


def _cause(out: Console, cause: Cause, everything: bool) -> None:
    """A cause as a report tells its finding, with the nodes that have it in place of its subject."""
    room = max(20, out.width - INDENT)
    lines = folded_lines(cause.nodes, room, 0 if everything else NODE_LINES)
    entry = FindingEntry(
        check=cause.check,
        status=cause.status,
        subject=cause.example,
        title=f"{cause.title} ({share(cause)})",
        says="\n".join([*lines, *([f"{cause.example} says: {cause.says}"] if cause.says else [])]),
        cause=cause.cause,
        fixes=cause.fixes if cause.check else (),  # those of many causes together mend none of them
        references=cause.references,
    )
    label = LABEL.get(cause.status, ("?", UNKNOWN))
    finding(out, entry, [], everything, False, label)


def share(cause: Cause) -> str:
    """On how many nodes it is, and how often where a node has it several times."""
    times = f", {number(cause.times)} times" if cause.times > cause.count else ""
    return count_of(cause.count) + times


def count_of(nodes: int) -> str:
    """So many nodes."""
    return f"{number(nodes)} node{'s' * (nodes != 1)}"


def _section(out: Console, title: str) -> None:
    out.print()
    out.print(Text(clean(title), "bold"), soft_wrap=True)


def _missing(out: Console, fleet: Fleet, everything: bool) -> None:
    if fleet.missing:
        _section(out, "Without a report")
    for one in fleet.missing:
        label = clean(one.state)
        for line in wrapped(f"{label}: {one.why}" if one.why else label, out.width - 2):
            out.print(Text("  " + line), soft_wrap=True)
        _listed(out, one.nodes, one.count, everything)


def _listed(out: Console, nodes: str, count: int, everything: bool, before: str = "    ") -> None:
    """How many nodes, and which, after some words."""
    head = f"{before}{number(count):>6}  "
    room = max(20, out.width - len(head))
    for line in folded_lines(nodes, room, 0 if everything else NODE_LINES):
        out.print(Text.assemble(head, (line, "cyan")), soft_wrap=True)
        head = " " * len(head)


def _drifts(out: Console, fleet: Fleet, everything: bool) -> None:
    shown = fleet.drifts if everything else fleet.drifts[:DRIFTS]
    before = None
    for drift in shown:
        if drift.hardware != before:
            _section(out, f"Like nodes that do not agree: {drift.hardware}")
            before = drift.hardware
        _drift(out, drift, everything)
    if hidden := len(fleet.drifts) - len(shown):
        out.print(Text(f"  And {number(hidden)} more facts (--all shows them)."), soft_wrap=True)


def _drift(out: Console, drift: Drift, everything: bool) -> None:
    head, *more = wrapped(f"{drift.fact}: {agreement(drift)}", out.width - 4)
    out.print(Text("  " + head), soft_wrap=True)
    for line in more:
        out.print(Text("    " + line), soft_wrap=True)
    for one in drift.departures:
        value = clean(one.value).replace("\n", " ") or '""'
        beside = len(value) <= BESIDE
        for line in [] if beside else wrapped(value, out.width - 4):
            out.print(Text("    " + line), soft_wrap=True)
        _listed(out, one.nodes, one.count, everything, f"    {value:<{BESIDE}}" if beside else "      ")
    if drift.departures and (hidden := drift.values - len(drift.departures) - bool(drift.majority)) > 0:
        out.print(Text(f"    and {number(hidden)} more values"), soft_wrap=True)


def agreement(drift: Drift) -> str:
    """How far like nodes agree."""
    if drift.majority:
        return f"{drift.majority} on {number(drift.count)} of {number(drift.known)}"
    if not drift.departures:
        return f"nearly every node has its own ({number(drift.values)} values on {count_of(drift.known)})"
    return "no majority"


def _spreads(out: Console, fleet: Fleet, everything: bool) -> None:
    """Those from which a device stands apart; all of them where everything is wanted."""
    apart = [one for one in fleet.spreads if one.outliers]
    shown = list(fleet.spreads) if everything else apart[:SPREADS]
    if shown:
        _section(out, "Measured")
        _often(out, fleet)
    for spread in shown:
        _spread(out, spread, everything)
    if hidden := len(fleet.spreads) - len(shown):
        words = "figure" if hidden == 1 else "figures"
        if not fleet.spreads or not shown:
            out.print()
        out.print(Text(f"  {number(hidden)} more {words} without such a device (--all shows them)."), soft_wrap=True)


def often_apart(fleet: Fleet) -> list[tuple[str, str, int]]:
    """Node and device of those that stand apart in several figures, and in how many; most often first."""
    times = Counter((one.node, one.device) for spread in fleet.spreads for one in spread.outliers)
    return [(node, device, count) for (node, device), count in times.most_common(OUTLIERS) if count > 1]


def _often(out: Console, fleet: Fleet) -> None:
    if often := often_apart(fleet):
        devices = ", ".join(f"{node} {device} ({count})" for node, device, count in often)
        for line in wrapped(f"In several figures: {devices}", out.width - 2):
            out.print(Text("  " + line, "bold"), soft_wrap=True)


def _spread(out: Console, spread: Spread, everything: bool) -> None:
    count = f"{number(spread.count)} value{'s' * (spread.count != 1)}"
    for line in wrapped(f"{spread.figure} in {spread.unit}, {count} of {spread.hardware}", out.width - 2):
        out.print(Text("  " + line), soft_wrap=True)
    five = [amount(v) for v in (spread.least, spread.low, spread.median, spread.high, spread.most)]
    wide = max(8, *map(len, five))
    names = ("least", "5 %", "median", "95 %", "most")
    out.print(Text("    " + " ".join(f"{name:>{wide}}" for name in names), "dim"), soft_wrap=True)
    out.print(Text("    " + " ".join(f"{value:>{wide}}" for value in five)), soft_wrap=True)
    out.print(Text("    " + bar(spread, BAR), "cyan"), soft_wrap=True)
    shown = spread.outliers if everything else spread.outliers[:OUTLIERS]
    for one in shown:
        says = f"{one.node} {one.device}: {amount(one.value)} ({one.deviations:+.1f} deviations)"
        for line in wrapped(says, out.width - 4):
            out.print(Text("    " + line, "bold"), soft_wrap=True)
    if hidden := len(spread.outliers) - len(shown) + spread.more:
        out.print(Text(f"    and {number(hidden)} more"), soft_wrap=True)


def _changes(out: Console, fleet: Fleet, everything: bool) -> None:
    if fleet.since:
        _section(out, f"Since {moment(fleet.since)}")
        if not fleet.changes:
            out.print(Text("  Nothing has changed."), soft_wrap=True)
    elif fleet.changes:
        _section(out, "Changed")
    shown = fleet.changes if everything else fleet.changes[:CHANGES]
    for change in shown:
        _change(out, change, everything)
    if hidden := len(fleet.changes) - len(shown):
        out.print(Text(f"  And {number(hidden)} more (--all shows them)."), soft_wrap=True)


def _change(out: Console, change: Change, everything: bool) -> None:
    mark = MARKS.get(change.kind, "*")
    for line in wrapped(change.says, out.width - 4):
        out.print(Text(f"  {mark} {line}"), soft_wrap=True)
        mark = " "
    if change.nodes:
        _listed(out, change.nodes, change.count, everything)


def _end(out: Console, fleet: Fleet) -> None:
    """What to do next, and the verdict once more: of a long text the end is what the terminal shows."""
    if fleet.next:
        out.print()
    for says in fleet.next:
        for line in wrapped(says, out.width):
            out.print(Text(line), soft_wrap=True)
    if not (fleet.causes or fleet.missing or fleet.drifts or fleet.spreads or fleet.changes):
        return
    out.print()
    _verdict(out, fleet)


def _verdict(out: Console, fleet: Fleet) -> None:
    word = status(fleet)
    for place, line in enumerate(wrapped(f"{word.upper()}  {sentence(fleet)}", out.width)):
        head = "" if place else word.upper()
        out.print(Text.assemble((head, STYLE.get(word, UNKNOWN)), (line[len(head) :], "bold")), soft_wrap=True)
