"""The summary for a terminal: how many nodes are healthy first, then what to fix, and where."""

import msgspec
from rich.console import Console
from rich.text import Text

from gpudoctor.fleet.renderers.lines import folded_lines
from gpudoctor.fleet.renderers.phrases import (
    apart,
    as_finding,
    count_of,
    hardware,
    in_short,
    named,
    outdated,
    share,
    titled,
    uncompared,
    when,
)
from gpudoctor.fleet.renderers.text_compared import NODE_LINES, changes, drifts, listed, section, spreads
from gpudoctor.fleet.renderers.verdict import sentence, states, status
from gpudoctor.fleet.summary import Cause, Fleet
from gpudoctor.report.model import word
from gpudoctor.report.numbers import number
from gpudoctor.report.renderers.text import INDENT, LABEL, console, finding, labelled, written
from gpudoctor.report.sanitize import clean, wrapped

STYLE = {"fail": "bold red", "no-gpu": "bold yellow", "warn": "bold yellow", "pass": "bold green"}
UNKNOWN = "bold magenta"
# What a screen holds; --all shows the rest.
CAUSES, GROUPS, MISSING = 20, 15, 15


def render(
    fleet: Fleet, width: int | None = None, colour: bool = False, everything: bool = False, cause: str = ""
) -> str:
    """The summary as text.

    Args:
        fleet: what to show.
        width: columns; None: 80.
        colour: whether ANSI colors are wanted.
        everything: also what is cut where there is much of it: every cause, fact and figure, each node's name.
        cause: only the details of causes with this ID.
    """
    out = console(width, colour)
    if cause:
        _verdict(out, fleet)
        for one in fleet.causes:
            if one.check == cause:
                _cause(out, one)
        return written(out)
    _head(out, fleet, everything)
    _overview(out, fleet, everything)
    for one in fleet.causes if everything else ():
        _cause(out, one)
    _missing(out, fleet, everything)
    drifts(out, fleet, everything)
    spreads(out, fleet, everything)
    changes(out, fleet, everything)
    _end(out, fleet)
    return written(out)


def _head(out: Console, fleet: Fleet, everything: bool) -> None:
    """The verdict, when it was asked, and which nodes are in which state."""
    _verdict(out, fleet)
    if said := when(fleet):
        labelled(out, "when", said, "dim")
    if said := outdated(fleet):
        labelled(out, "old", said)
    every = hardware(fleet)
    like = every if everything else every[:GROUPS]
    for place, (count, what, nodes) in enumerate(like):
        _nodes(out, "" if place else "fleet", f"{count_of(count)} with {what}{'  ' * bool(nodes)}", nodes, everything)
    if left := sum(count for count, _, _ in every[len(like) :]):
        _nodes(
            out,
            "",
            f"{count_of(left)} with {number(len(every) - len(like))} other kinds of hardware (--all shows them)",
        )
    shown = [one for one in states(fleet) if one[0] != "pass"]
    wide = max((len(clean(named(state))) for state, _, _ in shown), default=0)
    for place, (state, count, nodes) in enumerate(shown):
        head = f"{clean(named(state))[: INDENT * 2]:<{min(wide, INDENT * 2)}} {number(count):>6}  "
        _nodes(out, "nodes" if place == 0 else "", head, nodes, everything, STYLE.get(state, UNKNOWN))
    if said := apart(fleet):
        labelled(out, "differ", said)
    if said := uncompared(fleet):
        labelled(out, "peers", said, "dim")


def _nodes(out: Console, label: str, head: str, folded: str = "", everything: bool = False, style: str = "") -> None:
    """A label, some words, and nodes after them that keep to their column."""
    room = max(20, out.width - INDENT - len(head))
    lines = folded_lines(folded, room, 0 if everything else NODE_LINES) if folded else [""]
    for line in lines:
        parts = Text.assemble((f"{label:<{INDENT}}", "bold blue"), (clean(head).replace("\n", " "), style), line)
        out.print(parts, soft_wrap=True)
        label, head = "", " " * len(head)


def _overview(out: Console, fleet: Fleet, everything: bool) -> None:
    """A line for each cause: its status, how many nodes and which, what it is, and how it is fixed."""
    shown = fleet.causes if everything else fleet.causes[:CAUSES]
    if not shown:
        return
    section(out, "Causes" if everything else "Causes (details and commands: --cause ID, or --all)")
    room = max(20, out.width - INDENT - 8)
    for cause in shown:
        word, style = LABEL.get(cause.status, ("?", UNKNOWN))
        (nodes,) = folded_lines(cause.nodes, room // 2, 1)
        how = in_short(cause)
        message = (
            f"{nodes}: {titled(cause)}" + (f" -> {how}" if how else "") + (f" ({cause.check})" if cause.check else "")
        )
        head = Text.assemble((f"  {word:<{INDENT - 2}}", style), f"{number(cause.count):>6}  ")
        for line in wrapped(message, room):
            out.print(Text.assemble(head, line), soft_wrap=True)
            head = Text(" " * (INDENT + 8))
    if hidden := len(fleet.causes) - len(shown):
        out.print(Text(f"  And {number(hidden)} more (--all shows them)."), soft_wrap=True)


def _cause(out: Console, cause: Cause) -> None:
    """A cause as a report shows its finding, with the nodes that have it in place of its subject."""
    room = max(20, out.width - INDENT)
    lines = folded_lines(cause.nodes, room, 0)
    plain = as_finding(cause)
    message = "\n".join([*lines, *([plain.message] if plain.message else [])])
    entry = msgspec.structs.replace(plain, title=f"{cause.title} ({share(cause)})", message=message, run="")
    label = LABEL.get(cause.status, ("?", UNKNOWN))
    finding(out, entry, [], True, False, label, hint=False)
    if cause.run and cause.check:
        labelled(out, "run", f"{cause.run}  (on the node)", "dim")


def _missing(out: Console, fleet: Fleet, everything: bool) -> None:
    if fleet.missing:
        section(out, "Without a verdict")
    shown = fleet.missing if everything else fleet.missing[:MISSING]
    for one in shown:
        label = clean(named(one.state))
        for line in wrapped(f"{label}: {one.why}" if one.why else label, out.width - 2):
            out.print(Text("  " + line), soft_wrap=True)
        listed(out, one.nodes, one.count, everything)
    if hidden := len(fleet.missing) - len(shown):
        out.print(Text(f"  And {number(hidden)} more reasons (--all shows them)."), soft_wrap=True)


def _end(out: Console, fleet: Fleet) -> None:
    """What to do next, and the verdict once more: of a long text the end is what the terminal shows."""
    if fleet.next:
        out.print()
    for message in fleet.next:
        for line in wrapped(message, out.width):
            out.print(Text(line), soft_wrap=True)
    if not (fleet.causes or fleet.missing or fleet.drifts or fleet.spreads or fleet.changes):
        return
    out.print()
    _verdict(out, fleet)


def _verdict(out: Console, fleet: Fleet) -> None:
    found = status(fleet)
    for place, line in enumerate(wrapped(f"{word(found)}  {sentence(fleet)}", out.width)):
        head = "" if place else word(found)
        out.print(Text.assemble((head, STYLE.get(found, UNKNOWN)), (line[len(head) :], "bold")), soft_wrap=True)
