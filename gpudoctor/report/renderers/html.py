"""The report as one page: without scripts, without network, readable on a phone and on paper.

Names are masked before: `gpudoctor.privacy` does it to the facts that the report and its pictures are made of.
"""

from __future__ import annotations

import os
import re
from collections import Counter

from markupsafe import Markup, escape

from gpudoctor.facts import Facts
from gpudoctor.report.counts import counts, passed
from gpudoctor.report.grouping import alike
from gpudoctor.report.model import Report
from gpudoctor.report.numbers import moment
from gpudoctor.report.renderers import header
from gpudoctor.report.renderers.html_machine import machine
from gpudoctor.report.renderers.templates import templates
from gpudoctor.report.smoke_rows import listed, remarks, table_rows, title

# Nothing is loaded, run or sent, whatever a string of the report holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MASKED = "host"  # what gpudoctor.privacy puts in place of a machine's name
STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "html.css")
_COLUMNS = re.compile(r"\s{2,}")  # what stands in columns at a terminal
STATES = {
    "fail": "something does not work",
    "warn": "it works, with warnings",
    "no-gpu": "none was found, so none was checked",
    "incomplete": "too much is unknown for a verdict",
}


def render(report: Report, facts: Facts | None = None) -> str:
    """The page.

    Args:
        report: what is shown.
        facts: what the picture of the machine is drawn from; None: there is no picture.
    """
    status = report.status if report.status in (*STATES, "pass") else "incomplete"
    drawn = {}
    if report.cpu_gpu:
        from gpudoctor.report import cpu_gpu_words
        from gpudoctor.report.renderers.html_cpu_gpu import picture

        drawn = {"compared": cpu_gpu_words, "plot": picture}
    return templates().get_template("report.html.jinja").render(
        report=report, name=_name(report, facts), moment=moment, status=status,
        sentence=_sentence(report, status), policy=POLICY, style=read(STYLE),
        rows=[(label, _COLUMNS.sub(" · ", text)) for label, text in header.rows(report)],
        counts=counts(report, skipped=False), groups=alike(report.findings),
        machine=machine(facts, report) if facts is not None else "",
        smoke=[entry for entry in report.smoke if listed(entry)],
        title=title, remarks=remarks, table_rows=table_rows, **drawn,
    )  # fmt: skip


def _sentence(report: Report, status: str) -> str:
    """What follows the verdict's word: the first cause, where there is one."""
    sentence = passed(report)
    if status == "pass":
        return sentence[0].lower() + sentence[1:]
    causes = [group[0].title for group in alike(report.findings) if group[0].status == status]
    more = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    return f"{causes[0]}{more}" if causes else STATES[status]


def _name(report: Report, facts: Facts | None) -> str:
    """Which machine it is: its name, unless it is masked, and its GPUs."""
    host = facts.host.hostname if facts is not None and isinstance(facts.host.hostname, str) else ""
    host = "" if host == MASKED else host
    names = Counter(gpu.name or gpu.vendor for gpu in report.gpus)
    gpus = " + ".join(f"{count} x {name}" for name, count in names.items())
    return ", ".join(part for part in (host, gpus or report.machine.product or report.machine.distribution) if part)


def read(path: str) -> Markup:
    """A style or a script of ours."""
    with open(path, encoding="utf-8") as file:
        return Markup(file.read())  # noqa: S704 - ours


def framed(report: Report) -> str:
    """The page in a frame of its own, for a notebook: neither's styles reach the other, and no script runs in it.

    The sandbox allows no scripts, forms or windows. Its origin stays the notebook's: a browser isolates one without an
    origin in a process of its own, which pictures and prints of the notebook leave blank.
    """
    style = "width: 100%; height: 36em; border: 0; resize: vertical"
    page = escape(render(report))
    return f'<iframe sandbox="allow-same-origin" title="gpudoctor" style="{style}" srcdoc="{page}"></iframe>'
