"""The summary as one page without network: a grid of nodes to choose from, and every section without a script too."""

import base64
import hashlib
import os
from collections.abc import Iterator

from markupsafe import Markup

from gpudoctor.fleet.explained import without_echoes
from gpudoctor.fleet.fact_names import fact_name
from gpudoctor.fleet.renderers.html_grid import LABEL, board, page_data, shown
from gpudoctor.fleet.renderers.html_spread import drawn
from gpudoctor.fleet.renderers.nodes import FleetNode, nodes
from gpudoctor.fleet.renderers.phrases import (
    MARKS,
    UNCHANGED,
    agreement,
    apart,
    as_finding,
    balance,
    count_of,
    hardware,
    named,
    often_apart,
    outdated,
    share,
    uncompared,
    when,
)
from gpudoctor.fleet.renderers.verdict import sentence, status
from gpudoctor.fleet.summary import Departure, Drift, Fleet
from gpudoctor.report.model import word
from gpudoctor.report.numbers import moment
from gpudoctor.report.renderers.html import POLICY, STYLE, read
from gpudoctor.report.renderers.templates import templates
from gpudoctor.report.sanitize import document

FOLDS = 300  # letters of a node set that a page shows without a click
OWN = 24  # groups of nodes whose own messages a finding lists; the drawer has those of each node
LISTED = 12  # causes in the list of contents


def render(fleet: Fleet) -> str:
    """The page; of all scripts only ours runs, whatever a string of a report holds."""
    fleet = without_echoes(fleet)
    every = shown(nodes(fleet), fleet.total)
    here = os.path.dirname(os.path.abspath(__file__))
    script = read(os.path.join(here, "html.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return templates().get_template("fleet.html.jinja").render(
        fleet=fleet, title=f"{word(status(fleet))}, {count_of(fleet.total)}", status=status(fleet),
        sentence=sentence(fleet), when=when(fleet), apart=apart(fleet), outdated=outdated(fleet),
        uncompared=uncompared(fleet), hardware=hardware(fleet), grid=board(fleet, every) if every else None,
        causes=[(cause, as_finding(cause, OWN), share(cause)) for cause in fleet.causes], drifts=list(_drifts(fleet)),
        often=often_apart(fleet), picture=drawn, count_of=count_of, moment=moment, marks=MARKS, folds=FOLDS,
        fact_name=fact_name, unchanged=UNCHANGED, named=named, balance=balance(fleet),
        contents=list(_contents(fleet, bool(every))), listed=LISTED, heading=_heading(fleet),
        policy=f"{POLICY}; script-src 'sha256-{digest}'",
        style=read(STYLE) + read(os.path.join(here, "html.css")) + _label(every),
        script=script, data=_data(page_data(fleet, every)),
    )  # fmt: skip


def _label(drawn: list[FleetNode]) -> str:
    """The width of a row's name, in characters, so that the cells of all rows stand in columns."""
    return f"\n.grid {{ --label: {min(LABEL, max((len(node.name) for node in drawn), default=0))}ch; }}\n"


def _heading(fleet: Fleet) -> str:
    return "Problems to fix" if fleet.counts.get("fail") else "Findings"


def _contents(fleet: Fleet, nodes: bool) -> Iterator[tuple[str, str, int]]:
    """Each section that the page has: its anchor, its title, how many entries it has (0: they are not counted)."""
    sections = (
        ("nodes", "Nodes", fleet.total if nodes else 0),
        ("findings", _heading(fleet), len(fleet.causes)),
        ("missing", "Without a verdict", sum(one.count for one in fleet.missing)),
        ("drift", "Configuration drift", len(fleet.drifts)),
        ("measurements", "Measurements", len(fleet.spreads)),
    )
    yield from (one for one in sections if one[2])
    if fleet.since or fleet.changes:
        yield "changes", "Changes", len(fleet.changes)


def _drifts(fleet: Fleet) -> Iterator[tuple[str, Drift, str, list[tuple[int, Departure]], int]]:
    """Each fact: its hardware, itself, how far nodes agree, its numbered departures, how many are left out."""
    first = 0
    for drift in fleet.drifts:
        hidden = drift.values - len(drift.departures) - bool(drift.majority)
        yield drift.hardware, drift, agreement(drift), list(enumerate(drift.departures, first)), hidden
        first += len(drift.departures)


def _data(value: object) -> Markup:
    """JSON that cannot end the script that holds it."""
    return Markup(document(value).replace("<", "\\u003c").replace("\n", ""))  # noqa: S704
