"""The report as one page: without scripts, without network, readable on a phone and on paper.

Names are masked before: `gpudoctor.privacy` does it to the facts that the report and its pictures are made of.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html import escape

from gpudoctor.facts import Facts
from gpudoctor.report.counts import counts
from gpudoctor.report.grouping import alike
from gpudoctor.report.model import Report, word
from gpudoctor.report.renderers import header
from gpudoctor.report.renderers.html_bars import bars
from gpudoctor.report.renderers.html_findings import finding, prose
from gpudoctor.report.renderers.html_machine import machine
from gpudoctor.report.renderers.svg import escaped

# Nothing is loaded, run or sent, whatever a string of the report holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_COLUMNS = re.compile(r"\s{2,}")  # what stands in columns at a terminal
STATES = {
    "fail": "something does not work",
    "warn": "it works, with warnings",
    "no-gpu": "no GPU was found, so none was checked",
    "pass": "no problems found",
    "incomplete": "too much is unknown for a verdict",
}


def render(report: Report, facts: Facts | None = None) -> str:
    """The page.

    Args:
        report: what is said.
        facts: what the picture of the machine is drawn from; None: there is no picture.
    """
    parts = [*_head(report), "<main>", *_findings(report), *_pictures(report, facts), *_unknown(report), "</main>"]
    made = f"gpudoctor {escaped(report.version)}" + (f", {escaped(report.created)}" if report.created else "")
    return "\n".join([*_begin(report), *parts, f'<footer class="soft">{made}</footer>', "</body>", "</html>"]) + "\n"


def framed(report: Report) -> str:
    """The page in a frame of its own, for a notebook: neither's styles reach the other, and no script runs in it.

    The sandbox allows no scripts, forms or windows. Its origin stays the notebook's: a browser isolates one without an
    origin in a process of its own, which pictures and prints of the notebook leave blank.
    """
    style = "width: 100%; height: 36em; border: 0; resize: vertical"
    page = escape(render(report))
    return f'<iframe sandbox="allow-same-origin" title="gpudoctor" style="{style}" srcdoc="{page}"></iframe>'


def _begin(report: Report) -> Iterator[str]:
    with open(os.path.splitext(__file__)[0] + ".css", encoding="utf-8") as file:
        return begin(word(report.status), file.read(), POLICY)


def begin(title: str, style: str, policy: str) -> Iterator[str]:
    """The beginning of a page, to where its body does; the policy says what a browser may load and run."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>gpudoctor: {escaped(title)}</title>"
    yield f"<style>\n{style}</style>"
    yield "</head>"
    yield "<body>"


def _head(report: Report) -> Iterator[str]:
    status = report.status if report.status in STATES else "incomplete"
    yield f'<header class="verdict {status}">'
    yield f'<h1><span class="word">{escaped(word(report.status))}</span> {STATES[status]}</h1>'
    yield f"<p>{', '.join(counts(report))}</p>"
    for sentence in report.next:
        yield f"<p>{prose(sentence)}</p>"
    yield "</header>"
    yield '<dl class="head">'
    for label, text in header.rows(report):
        if label:
            yield f"<dt>{escaped(label)}</dt>"
        yield f"<dd>{escaped(_COLUMNS.sub(' · ', text))}</dd>"
    yield "</dl>"


def _findings(report: Report) -> Iterator[str]:
    groups = alike(report.findings)
    if groups:
        yield f"<h2>{'Problems to fix' if report.failed else 'Findings'}</h2>"
    for number, (entry, *others) in enumerate(groups, 1):
        yield from finding(number, entry, others)


def _pictures(report: Report, facts: Facts | None) -> Iterator[str]:
    drawn = machine(facts, report) if facts is not None else ""
    if drawn:
        yield "<h2>The machine</h2>"
        yield drawn
        yield '<p class="soft">Line width shows the number of PCIe lanes. An idle GPU lowers its PCIe generation.</p>'
    if report.smoke:
        yield "<h2>Smoke tests</h2>"
        yield from bars(report.smoke)


def _unknown(report: Report) -> Iterator[str]:
    if not report.unknown:
        return
    yield "<h2>Unknown</h2>"
    yield f"<details><summary>{len(report.unknown):,} without a result</summary>"
    yield "<ul>"
    for one in report.unknown:
        word = "broken: " if one.broken else ""
        yield f"<li><code>{escaped(one.check)}</code> ({escaped(one.subject)}): {word}{prose(one.reason)}</li>"
    yield "</ul></details>"
