"""A finding as a part of the page: message, cause, evidence, fixes, effects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.report.fixes import notes
from gpudoctor.report.grouping import own_commands, sentences
from gpudoctor.report.model import FindingEntry, FixEntry
from gpudoctor.report.renderers.svg import escaped

LABELS = {"fail": "FAIL", "warn": "WARN", "advice": "ADVICE"}
_ADDRESS = re.compile(r"https?://[^\s<>\"'`]+")


def prose(text: str) -> str:
    """A sentence, with what stands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(f"<code>{escaped(one)}</code>" if place % 2 else escaped(one) for place, one in enumerate(parts))


def finding(number: int, entry: FindingEntry, others: list[FindingEntry]) -> Iterator[str]:
    """The finding, with what others of its kind say besides."""
    status = entry.status if entry.status in LABELS else "advice"
    first = " first" if number == 1 else ""
    yield f'<article class="finding {status}{first}" id="finding-{number}">'
    yield f'<h3>{number}. <span class="word">{LABELS[status]}</span> {prose(entry.title)}</h3>'
    yield f"<p>{prose(entry.message)}</p>"
    if others:
        yield "<ul>" + "".join(f"<li>Also: {prose(message)}</li>" for message in sentences(entry, others)) + "</ul>"
    yield f'<span class="label">cause</span><p>{prose(entry.cause)}</p>'
    if seen := dict.fromkeys(seen for one in (entry, *others) for seen in one.evidence):
        yield '<span class="label">evidence</span><pre class="seen">' + escaped("\n".join(seen)) + "</pre>"
    for place, fix in enumerate(entry.fixes):
        yield from _fix(fix, "or" if place else "fix")
    for other in others:
        if commands := own_commands(other, entry):
            yield f"<p>The same for {escaped(other.subject)}:</p>"
            yield from map(_command, commands)
    if entry.run:
        yield '<span class="label">run</span><p class="soft">gpudoctor shows each step and asks before it runs any:</p>'
        yield _command(entry.run)
    yield from _consequences(entry, others)
    yield from _more(entry, others)
    yield "</article>"


def _fix(fix: FixEntry, label: str) -> Iterator[str]:
    yield f'<span class="label">{label}</span><p>{prose(fix.message)}</p>'
    yield from map(_command, fix.commands)
    if after := notes(fix):
        yield f'<p class="soft">({escaped("; ".join(after))})</p>'
    if fix.verify and fix.verify not in fix.commands:
        yield '<span class="label">verify</span>'
        yield _command(fix.verify)
    if fix.undo:
        yield f'<span class="label">undo</span><p class="soft">{prose(fix.undo)}</p>'


def _command(command: str) -> str:
    """A command in a box of its own: a click selects all of it."""
    return f'<pre class="command"><code>{escaped(command)}</code></pre>'


def _consequences(entry: FindingEntry, others: list[FindingEntry]) -> Iterator[str]:
    told: dict[str, int] = {}
    for one in (follows for each in (entry, *others) for follows in each.consequences):
        told[one.message] = told.get(one.message, 0) + 1
    if told:
        yield '<span class="label">effects</span><ul>'
        for message, times in told.items():
            yield f"<li>{prose(message)}{f' ({times} times)' if times > 1 else ''}</li>"
        yield "</ul>"


def _more(entry: FindingEntry, others: list[FindingEntry]) -> Iterator[str]:
    about = ", ".join(escaped(one.subject) for one in (entry, *others) if one.subject)
    yield f"<details><summary>Details of <code>{escaped(entry.check)}</code></summary>"
    yield f"<p>Applies to {about}. Explanation: <code>gpudoctor explain {escaped(entry.check)}</code></p>"
    if entry.affects:
        yield f"<p>Affects {escaped(', '.join(entry.affects))}.</p>"
    if entry.ruled_out:
        yield f"<p>Ruled out: {', '.join(f'<code>{escaped(id_)}</code>' for id_ in entry.ruled_out)}</p>"
    if entry.references:
        yield "<ul>" + "".join(f"<li>{_link(one)}</li>" for one in entry.references) + "</ul>"
    yield "</details>"


def _link(address: str) -> str:
    """Only an address of the web becomes a link; it leads away only where somebody clicks on it."""
    shown = escaped(address)
    return f'<a class="bare" href="{shown}" rel="noreferrer">{shown}</a>' if _ADDRESS.fullmatch(address) else shown
