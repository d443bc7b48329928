"""The report as Markdown, ready to be pasted into an issue: commands in fences, details folded.

Names are masked before: `gpudoctor.privacy` does it to the facts that the report is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gpudoctor.report.fixes import blocks, label, notes, verifications
from gpudoctor.report.grouping import alike, evidence, own_commands, sentences, together
from gpudoctor.report.model import FindingEntry, FixEntry, Report, word
from gpudoctor.report.renderers import text
from gpudoctor.report.sanitize import clean
from gpudoctor.tasks import Manual, Task
from gpudoctor.tasks.as_typed import language

WIDE = 100  # columns of the parts that keep their lines
WORDS = {"fail": "FAIL", "warn": "WARN", "advice": "ADVICE"}
# What GitHub's and GitLab's Markdown take for markup in a line of prose.
_MARKUP = re.compile(r"([\\*_\[\]|~])")
# What they take for a block at the beginning of a line.
_BLOCK = re.compile(r"^(\d*)(?=[#>+=-]|(?<=\d)[.)](?:\s|$))")
# A name or a number that would call a person, or link to an issue, ours or another project's (owner/name#1, GH-1).
_CALL = re.compile(r"(?<![\w`])([@#!])(?=[\w-])|(?<=\w)([#!])(?=\d)|\b((?i:gh)-)(?=\d)")


def render(report: Report) -> str:
    """The report as Markdown."""
    parts = [f"**gpudoctor {plain(report.version)}: {plain(word(report.status))}**", *_head(report)]
    message = [*_message(report)]
    explained = report.root_symptom is not None and bool(report.root_symptom.explained_by)
    parts += () if explained else message
    for number, (entry, *others) in enumerate(alike(report.findings), 1):
        parts += _finding(number, entry, others)
        parts += message if explained and number == 1 else ()
    parts += _unknown(report)
    parts += _smoke(report)
    parts += [plain(sentence) for sentence in report.next if "--verbose" not in sentence]
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(words: str) -> str:
    """Text on one line in which Markdown sees nothing but code in backticks, and which calls nobody."""
    line = " ".join(clean(words).split())
    parts = line.split("`")
    if len(parts) % 2 == 0 or "``" in line:  # one without its partner, or what could begin a fence
        return _begun("\\`".join(_quiet(part) for part in parts))
    parts[::2] = [_quiet(part) for part in parts[::2]]
    return _begun("`".join(parts))


def _begun(line: str) -> str:
    """The line, beginning with nothing that makes a list or a heading of it."""
    return _BLOCK.sub(r"\1\\", line, count=1)


def _quiet(words: str) -> str:
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _CALL.sub(r"\g<0><!-- -->", _MARKUP.sub(r"\\\1", words))


def fence(lines: Iterable[str], language: str = "text") -> str:
    """Lines that stay as they are, in a fence that none of them can end."""
    body = clean("\n".join(lines)).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    bar = "`" * max(3, longest + 1)
    return f"{bar}{language}\n{body}\n{bar}"


def _code(words: str) -> str:
    return "`" + " ".join(clean(words).replace("`", "'").split()) + "`"


def _link(address: str) -> str:
    return f"<{address}>" if re.fullmatch(r"https?://[^<>\x00-\x20\x7f-\U0010ffff]+", address) else plain(address)


def folded(title: str, *parts: str) -> str:
    """Parts behind a line that a click opens."""
    return "\n\n".join([f"<details><summary>{plain(title)}</summary>", *parts, "</details>"])


def _head(report: Report) -> list[str]:
    """The machine and the numbers, as the text report has them."""
    bare = msgspec.structs.replace(report, findings=(), unknown=(), smoke=(), symptoms=(), next=())
    return [fence([text.render(bare, WIDE, verbose=True)])]


def _message(report: Report) -> Iterator[str]:
    """What the message that was given means, and what helps."""
    if (root := report.root_symptom) is None:
        return
    yield f"### MESSAGE: {plain(root.meaning)}"
    yield fence([root.message, *root.details])
    yield from fixes(root.fixes)


def _finding(number: int, entry: FindingEntry, others: list[FindingEntry]) -> Iterator[str]:
    yield f"### {number}. {WORDS[entry.status]}: {plain(entry.title)}"
    yield plain(entry.message)
    if others:
        yield "\n".join(f"- Also: {plain(message)}" for message in sentences(entry, others))
    yield from fixes(together(entry, others), others)
    yield f"**Cause:** {plain(entry.cause)}"
    if seen := evidence((entry, *others)):
        yield "**Evidence:**"
        yield fence(seen)
    yield _more(entry, others)


def fixes(entries: tuple[FixEntry, ...], others: Sequence[FindingEntry] = ()) -> Iterator[str]:
    """Each fix with its commands, as paragraphs and fences, and with those of other findings of its kind."""
    for place, (fix, verify) in enumerate(zip(entries, verifications(entries), strict=True)):
        yield from _fix(fix, label(fix, place).capitalize(), verify)
        for other in others:
            if commands := own_commands(other, entries, place):
                yield f"The same for {plain(other.subject)}:"
                own = other.fixes[place]
                tasks = dict(zip(own.commands, own.tasks, strict=False))
                yield from typed(commands, [tasks.get(command) for command in commands])


def _fix(fix: FixEntry, word: str, verify: str) -> Iterator[str]:
    after = plain("; ".join(notes(fix)))
    yield f"**{word}:** {plain(fix.message)}" + (f" ({after})" if after else "")
    yield from typed(fix.commands, fix.tasks)
    if verify:
        yield "**Verify:**"
        yield fence([verify], language(fix.verify_task, verify))
    if fix.undo and any(not isinstance(task, Manual) for task in fix.undo_tasks):
        yield "**Undo:**"
        only = fix.undo_tasks[0] if len(fix.undo_tasks) == 1 else None
        yield fence([fix.undo], language(only, fix.undo))
    elif fix.undo:
        yield f"**Undo:** {plain(fix.undo)}"


def typed(commands: Sequence[str], tasks: Sequence[Task | None]) -> Iterator[str]:
    """What is typed, each language in a fence of its own; lines of a file below its name."""
    for block in blocks(commands, tasks):
        if block.path:
            yield f"In {_code(block.path)}:"
        yield fence(block.lines, block.language)


def _more(entry: FindingEntry, others: list[FindingEntry]) -> str:
    """Effects, what was ruled out, and sources: folded."""
    follow = (one for each in (entry, *others) for one in each.consequences)
    said = dict.fromkeys(f"{_code(one.check)}: {plain(one.message)}" for one in follow)
    parts = ["\n".join(f"- {line}" for line in said)] if said else []
    if entry.ruled_out:
        parts.append("Ruled out: " + ", ".join(_code(id_) for id_ in entry.ruled_out))
    if entry.references:
        parts.append("\n".join(f"- {_link(reference)}" for reference in entry.references))
    about = ", ".join(plain(one.subject) for one in (entry, *others))
    run = f"; run {_code(entry.run)}" if entry.run else ""
    parts.append(f"id {_code(entry.check)}; applies to {about}{run}")
    return folded(f"Details and {len(said)} effect{'s' * (len(said) != 1)}" if said else "Details", *parts)


def _unknown(report: Report) -> Iterator[str]:
    if report.unknown:
        lines = [f"- {_code(one.check)} ({plain(one.subject)}): {plain(one.reason)}" for one in report.unknown]
        yield folded(f"Unknown ({len(lines)})", "\n".join(lines))


def _smoke(report: Report) -> Iterator[str]:
    if report.smoke:
        bare = msgspec.structs.replace(
            report, findings=(), unknown=(), symptoms=(), next=(), gpus=(), pythons=(), python=None
        )
        rows = text.render(bare, WIDE).splitlines()
        first = next((place for place, row in enumerate(rows) if not row), 0)
        yield folded("Smoke tests", fence(rows[first + 1 : -2]))
