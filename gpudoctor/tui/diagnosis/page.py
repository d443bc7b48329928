"""The detail of an item: evidence, cause, what to type, how to verify."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.report import fixes
from gpudoctor.report.counts import passed
from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.diagnosis.items import WORDS, Item
from gpudoctor.tui.diagnosis.lines import INDENT, DetailLine, hanging, typed

BLANK = DetailLine("", "")
STYLES = {"fail": "fail", "warn": "warn", "advice": "advice", "pass": "pass", "unknown": "warn", "broken": "fail"}


class PageCommand(NamedTuple):
    """A command that can be copied.

    Attributes:
        text: as it is typed.
        fix: which fix it belongs to.
        message: what that fix does.
        check: the finding's id.
        verifies: whether it only shows that the fix helped.
    """

    text: str
    fix: int
    message: str
    check: str
    verifies: bool = False


class Page(NamedTuple):
    """The detail of one item."""

    lines: tuple[DetailLine, ...] = ()
    commands: tuple[PageCommand, ...] = ()


def headline(label: str, text: str, width: int, status: str) -> list[DetailLine]:
    """The first lines of a page, their label in the color of the status like the rest."""
    look = f"heading {STYLES.get(status, 'dim')}"
    return [line._replace(look=look) for line in hanging(label, text, width, look)]


def found(status: str, message: str, width: int) -> list[DetailLine]:
    """The first lines about a finding whose title is in the list: its status, and what is wrong on this machine."""
    look = f"heading {STYLES.get(status, 'dim')}"
    label = " ".join(clean(WORDS.get(status, status)).split())[: INDENT - 1]
    return [line._replace(look=look) for line in hanging(label, message, width, "heading")]


def commands_of(entry: FindingEntry) -> tuple[PageCommand, ...]:
    """All commands of a finding in the order in which they are shown."""
    return commands_of_fixes(entry.fixes, entry.check)


def commands_of_fixes(several: Sequence[FixEntry], check: str) -> tuple[PageCommand, ...]:
    """All commands of some fixes for what a check found."""
    found = []
    for number, one in enumerate(several):
        found += [PageCommand(clean(text), number, one.message, check) for text in one.commands]
        if one.verify:
            found.append(PageCommand(clean(one.verify), number, one.message, check, verifies=True))
    return tuple(found)


def page(item: Item, width: int, remark: str = "") -> Page:
    """The detail of an item.

    Args:
        item: what is selected.
        width: columns.
        remark: what came of trying it again.
    """
    if item.finding is None:
        return Page(tuple(_quiet(item, width)))
    if item.follows:
        return Page(tuple(_consequence(item, item.finding, width)))
    return Page(tuple(_finding(item.finding, width, remark)), commands_of(item.finding))


def _finding(entry: FindingEntry, width: int, remark: str) -> Iterator[DetailLine]:
    """What is wrong and how to fix it first: on a small screen these are in sight; the title is in the list."""
    yield from found(entry.status, entry.message, width)
    if remark:
        yield from hanging("again", remark, width, "heading")
    first = 0
    for number, one in enumerate(entry.fixes):
        yield BLANK
        yield from fix(one, fixes.label(one, number), width, first)
        first += len(one.commands) + bool(one.verify)
    yield BLANK
    yield from hanging("cause", entry.cause, width)
    for number, seen in enumerate(entry.evidence):
        yield from hanging("" if number else "evidence", seen, width, "dim")
    yield from _rest(entry, width)


def fix(one: FixEntry, label: str, width: int, first: int) -> Iterator[DetailLine]:
    """The lines of a fix.

    Args:
        one: the fix.
        label: fix, or, later.
        width: columns.
        first: the place of its first command among those of the page.
    """
    yield from hanging(label, one.message, width)
    for number, text in enumerate(one.commands):
        yield from typed(f"{number + 1}", text, width, first + number)
    for note in notes(one):
        yield from hanging("note", note, width, "dim")
    if one.verify:
        yield from typed("verify", one.verify, width, first + len(one.commands))


def notes(fix: FixEntry) -> list[str]:
    """What somebody has to know before typing: root, what follows, how risky it is, how to undo it."""
    parts = fixes.notes(fix)
    undo = [f"Undo: {fix.undo}"] if fix.undo else []
    return ["; ".join(parts), *undo] if parts else undo


def _rest(entry: FindingEntry, width: int) -> Iterator[DetailLine]:
    """The consequences, what was ruled out, what it applies to."""
    yield BLANK
    messages: dict[str, int] = {}
    for one in entry.consequences:
        messages[one.message] = messages.get(one.message, 0) + 1
    for number, (message, times) in enumerate(messages.items()):
        mark = "- " if len(messages) > 1 else ""
        yield from hanging(
            "" if number else "effects", mark + message + (f" ({times} times)" if times > 1 else ""), width
        )
    for number, reference in enumerate(entry.references):
        yield from hanging("" if number else "see", reference, width, "dim")
    yield from hanging("applies to", entry.subject, width, "dim")
    yield from hanging("id", entry.check, width, "dim")
    if entry.ruled_out:  # often twenty of them
        yield from hanging("ruled out", ", ".join(entry.ruled_out), width, "dim")


def _consequence(item: Item, cause: FindingEntry, width: int) -> Iterator[DetailLine]:
    yield from headline("effect", item.title, width, item.status)
    yield BLANK
    yield from hanging("cause", f"This is a consequence of: {cause.title}. Fix that first.", width)
    yield from hanging("applies to", item.subject, width, "dim")
    yield from hanging("id", item.check, width, "dim")


def _quiet(item: Item, width: int) -> Iterator[DetailLine]:
    if item.status == "pass":
        yield from headline(WORDS["pass"], f"Not found: {item.title}", width, item.status)
    elif item.status == "skipped":
        yield from headline("skipped", "This check does not apply to this machine.", width, item.status)
    else:
        yield from headline(WORDS[item.status], item.title, width, item.status)
    if item.message:
        yield BLANK
        yield from hanging("what" if item.status in ("pass", "skipped") else "why", item.message, width)
    yield BLANK
    if item.subjects:
        yield from hanging("applies to", item.subject, width, "dim")
    if item.check != "probe":
        yield from hanging("id", item.check, width, "dim")


def nothing(report: Report | None, running: bool, error: str | None, width: int, held_back: bool = False) -> Page:
    """The detail where no item is selected."""
    return Page(tuple(_nothing(report, running, error, width, held_back)))


def _nothing(
    report: Report | None, running: bool, error: str | None, width: int, held_back: bool
) -> Iterator[DetailLine]:
    if error:
        yield from headline("broken", "gpudoctor itself failed. Please report this bug.", width, "broken")
        yield from hanging("", error, width, "dim")
    elif held_back:
        yield from hanging("", "No matches. Esc clears the search.", width)
    elif running or report is None:
        yield from hanging("", "The probes are running. Findings appear here as they are made.", width, "dim")
    else:
        yield from _proven(report, width)


_SAYS = {
    "no-gpu": "No GPU is available to programs here, so none was checked",
    "incomplete": "No problems found, but some facts are unknown",
}


def verdict_sentence(report: Report) -> str:
    """What follows the verdict's word where there is no finding, without a full stop."""
    return passed(report) if report.status == "pass" else _SAYS.get(report.status, _SAYS["incomplete"])


def _proven(report: Report, width: int) -> Iterator[DetailLine]:
    """What is known to be healthy, and how to know more."""
    word = {"pass": "PASS", "warn": "WARN", "fail": "FAIL", "no-gpu": "NO GPU"}.get(report.status, "INCOMPLETE")
    yield from headline(word, verdict_sentence(report), width, "pass" if report.status == "pass" else "warn")
    yield BLANK
    sentences = [sentence for sentence in report.next if "--verbose" not in sentence]
    for number, sentence in enumerate(sentences):
        yield from hanging("" if number else "next", sentence, width)
    if report.unknown:
        yield BLANK
        yield from _key("p", "lists what is unknown, and how to find it out.", "screen.others", width)
    yield BLANK
    smoke = "runs the smoke tests: they prove that the GPU computes, trains and copies correctly."
    yield from _key("3", smoke, "app.go('smoke')", width)


def _key(key: str, does: str, action: str, width: int) -> Iterator[DetailLine]:
    """A key and what it does, which a click does too."""
    for line in hanging(key, does, width):
        yield line._replace(press=action)
