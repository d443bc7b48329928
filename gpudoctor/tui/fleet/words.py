"""The first line: how many nodes there are, by state, and from when the reports are."""

from __future__ import annotations

from gpudoctor.fleet.ages import ages
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.numbers import number
from gpudoctor.tui.diagnosis.commands import one_line
from gpudoctor.tui.diagnosis.lines import hanging
from gpudoctor.tui.diagnosis.page import Page
from gpudoctor.tui.fleet.entries import nodes
from gpudoctor.tui.fleet.model import Opened
from gpudoctor.tui.fleet.states import look, ranked

Part = tuple[str, str]  # a text and its classes
CLASSES = {"fail": "heading fail", "warn": "heading warn", "open": "heading advice", "lost": "heading label",
           "pass": "heading pass"}  # fmt: skip

ROOMY = 100  # columns from which on the times have a line of their own
OPEN = (("o", "opens the reports of many machines: the directory of a run, or files that were collected."), ("", ""))
HOW = (
    ("run", "`gpudoctor fleet run slurm NODES --output DIR` checks many nodes and collects their reports in DIR."),
    ("collect", "`gpudoctor check --json > SHARED/$(hostname).json` on each machine works without a scheduler."),
    ("open", "`gpudoctor tui --fleet DIR` starts here."),
)


def legend(fleet: Fleet) -> list[list[Part]]:
    """How many nodes are in each state, each with the letter that stands for it in the grid; pieces stay whole."""
    found: list[list[Part]] = [[(nodes(fleet.total), "heading")]]
    for state in ranked(fleet.counts):
        seen = look(state)
        found.append([(seen.letter, CLASSES[seen.style]), (f" {number(fleet.counts[state])} {seen.words}", "")])
    return found


def when(fleet: Fleet) -> str:
    """From when the reports are: times in UTC, as they stand in them."""
    if not fleet.oldest:
        return ""
    oldest, newest = _short(fleet.oldest), _short(fleet.newest)
    old = f" ({age})" if (age := ages(fleet)) else ""
    if oldest == newest or not newest:
        return f"reports of {oldest} UTC{old}"
    same = oldest[:10] == newest[:10]
    return f"reports of {oldest} to {newest[11:] if same else newest} UTC{old}"


def _short(time: str) -> str:
    """2026-11-21T03:05:12Z as 2026-11-21 03:05."""
    return one_line(time[:16]).replace("T", " ")


def lines(opened: Opened, width: int) -> list[list[Part]]:
    """The first lines of the screen, each as parts.

    Args:
        opened: the fleet.
        width: columns.
    """
    rows: list[list[Part]] = []
    if opened.fleet is not None:
        counted, dated = legend(opened.fleet), [[(when(opened.fleet), "dim")]]
        rows = wrapped(counted, width)
        whole = wrapped(counted + dated, width)
        rows = whole if len(whole) == len(rows) or width >= ROOMY else rows
    if opened.note:
        rows.append([(opened.note, "warn")])
    if opened.error:
        rows.append([(opened.error, "fail")])
    elif opened.running:
        rows.append([(f"Reading {', '.join(opened.paths)}: {number(opened.done)} reports", "label")])
    return rows


def wrapped(pieces: list[list[Part]], width: int) -> list[list[Part]]:
    """Pieces next to each other as long as there is room; a piece is never broken."""
    rows: list[list[Part]] = []
    used = 0
    for piece in pieces:
        long = sum(len(text) for text, _ in piece)
        if not long:
            continue
        if rows and used + 3 + long <= width:
            rows[-1] += [("   ", ""), *piece]
            used += 3 + long
        else:
            rows.append(list(piece))
            used = long
    return rows


def nothing(opened: Opened, width: int, openable: bool) -> Page:
    """The detail where there is no fleet yet, or none at all.

    Args:
        opened: the fleet.
        width: columns.
        openable: whether another can be opened.
    """
    if opened.error:
        again = "`o` opens other reports, and `r` reloads these." if openable else "`r` reloads them."
        return Page(tuple(hanging("", again, width)))
    if opened.running:
        return Page(tuple(hanging("", "Reading the reports. The summary appears here as they are read.", width)))
    lines = [line for label, text in (*(OPEN if openable else ()), *HOW) for line in hanging(label, text, width)]
    return Page(tuple(lines))
