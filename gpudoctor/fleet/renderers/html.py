"""The summary as one page without network: a grid of nodes to choose from, and every section without a script too."""

import base64
import hashlib
import os
from collections.abc import Iterator

from gpudoctor.fleet.renderers.html_grid import grid, told
from gpudoctor.fleet.renderers.html_sections import causes, changes, drifts, missing, spreads
from gpudoctor.fleet.renderers.nodes import nodes
from gpudoctor.fleet.renderers.phrases import apart, count_of, when
from gpudoctor.fleet.renderers.verdict import sentence, status
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.model import word
from gpudoctor.report.renderers import html as of_one
from gpudoctor.report.renderers.html_findings import prose
from gpudoctor.report.renderers.svg import escaped
from gpudoctor.report.sanitize import document


def render(fleet: Fleet) -> str:
    """The page."""
    every = nodes(fleet)
    parts = [
        *_head(fleet),
        "<main>",
        *(grid(every) if every else ()),
        *causes(fleet),
        *missing(fleet),
        *drifts(fleet),
        *spreads(fleet),
        *changes(fleet),
        "</main>",
    ]
    made = f"gpudoctor {escaped(fleet.version)}" + (f", {escaped(fleet.created)}" if fleet.created else "")
    script = _beside("html.js", __file__)
    return "\n".join(
        [
            *_begin(fleet, script),
            *parts,
            f'<footer class="soft">{made}</footer>',
            f'<script type="application/json" id="told">{_data(told(fleet, every))}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>\n",
        ]
    )


def _begin(fleet: Fleet, script: str) -> Iterator[str]:
    """The head; of all scripts only ours runs, whatever a string of a report holds."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"{of_one.POLICY}; script-src 'sha256-{digest}'"
    style = _beside("html.css", of_one.__file__) + _beside("html.css", __file__)
    return of_one.begin(f"{word(status(fleet))}, {count_of(fleet.total)}", style, policy)


def _head(fleet: Fleet) -> Iterator[str]:
    found = status(fleet)
    yield f'<header class="verdict {found}">'
    yield f'<h1><span class="word">{word(found)}</span> {escaped(sentence(fleet))}</h1>'
    if said := when(fleet):
        yield f'<p class="soft">{escaped(said)}</p>'
    if said := apart(fleet):
        yield f"<p>{escaped(said[0].upper() + said[1:])}.</p>"
    for message in fleet.next:
        yield f"<p>{prose(message)}</p>"
    yield "</header>"
    if fleet.groups:
        yield '<ul class="groups">'
        for group in fleet.groups:
            yield f"<li><b>{count_of(group.count)}</b> with {escaped(group.hardware)}</li>"
        yield "</ul>"


def _data(value: object) -> str:
    """JSON that cannot end the script that holds it."""
    return document(value).replace("<", "\\u003c").replace("\n", "")


def _beside(name: str, of: str) -> str:
    with open(os.path.join(os.path.dirname(of), name), encoding="utf-8") as file:
        return file.read()
