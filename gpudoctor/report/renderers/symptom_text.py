"""What a log says and which finding explains it, for a person: the root cause first, the machine last."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from gpudoctor.maybe import phrase, phrases
from gpudoctor.report.grouping import alike
from gpudoctor.report.model import FindingEntry, Report, SymptomEntry
from gpudoctor.report.renderers.header import header
from gpudoctor.report.renderers.text import console, finding, headline, labelled, written
from gpudoctor.report.sanitize import wrapped

# Ids of one area that are listed by name; more are counted.
FEW = 4
ROLES = {
    "same": "has the same cause",
    "follows": "follows from the first",
    "warning": "a warning",
    "also": "another error",
}


def render(report: Report, width: int | None = None, colour: bool = False, verbose: bool = False) -> str:
    """The report on a log as text.

    Args:
        report: with its symptoms, the root first.
        width: columns; None: 80.
        colour: whether ANSI colours are wanted.
        verbose: list every check that was looked at, the harmless lines and references too.
    """
    out = console(width, colour)
    told = [entry for entry in report.symptoms if entry.role != "harmless"]
    causes = [f for f in report.findings if any(f.check in entry.explained_by for entry in told)]
    if not told:
        _sentence(out, "The log tells of no error that gpudoctor knows.")
    elif told[0].explained_by:
        causes = _explained(out, report, told[0], causes, verbose)
    else:
        _unexplained(out, told[0], verbose)
    _others(out, told[1:])
    _causes(out, causes if not (told and told[0].explained_by) else causes[1:])
    _harmless(out, [entry for entry in report.symptoms if entry.role == "harmless"], verbose)
    _besides(out, [f for f in report.findings if f not in causes and not _explains(f, told)], bool(told))
    out.print()
    header(out, report)
    for sentence in report.next:
        _sentence(out, sentence)
    return written(out).lstrip("\n")


def _explains(entry: FindingEntry, told: Sequence[SymptomEntry]) -> bool:
    return any(entry.check in one.explained_by for one in told)


def _explained(
    out: Console, report: Report, root: SymptomEntry, causes: list[FindingEntry], verbose: bool
) -> list[FindingEntry]:
    """The finding that explains the root, then the message; gives the findings, that one first."""
    first, *others = next(group for group in alike(causes) if group[0].check == root.explained_by[0])
    finding(out, first, others, verbose, len(report.pythons) > 1, ("CAUSE", "bold red"))
    labelled(out, "log", _place(root) + root.message)
    labelled(out, "", f"It means: {root.meaning}.")
    for details in root.details:
        labelled(out, "seen", details)
    _advice(out, root)
    return [first, *(f for f in causes if f is not first and f not in others)]


def _unexplained(out: Console, root: SymptomEntry, verbose: bool) -> None:
    """What the message means, what was ruled out here, and what to try."""
    headline(out, "LOG", "bold red", _sentenced(root.meaning))
    labelled(out, "log", _place(root) + root.message)
    for details in root.details:
        labelled(out, "seen", details)
    if root.ruled_out:
        labelled(out, "well", f"Looked at on this machine, and not the cause: {_ids(root.ruled_out, verbose)}.", "dim")
    if root.unanswered:
        labelled(out, "unknown", f"Could not be looked at: {_ids(root.unanswered, verbose)}.", "dim")
    for number, one in enumerate(root.tries):
        labelled(out, "try" if number == 0 else "or", one)
    _advice(out, root)


def _advice(out: Console, entry: SymptomEntry) -> None:
    if entry.advice:
        labelled(out, "not so", f"{entry.advice}.")


def _place(entry: SymptomEntry) -> str:
    """Where a message stands: "line 12 (rank 3, 8 times): "."""
    more = [*phrases(phrase("rank {}", entry.rank))] + [f"{entry.times} times"] * (entry.times > 1)
    told = f" ({', '.join(more)})" if more else ""
    return f"line {entry.line}{told}: " if entry.line else ""


def _others(out: Console, entries: Sequence[SymptomEntry]) -> None:
    """The other messages, in the order in which they stand in the log."""
    if not entries:
        return
    out.print()
    out.print(Text("In the log besides", "bold"))
    for entry in sorted(entries, key=lambda one: one.line):
        labelled(out, f"{entry.line:>6}", entry.message)
        labelled(out, "", f"({ROLES.get(entry.role, 'an error')}) {_sentenced(entry.meaning)}.")
        for details in entry.details:
            labelled(out, "", details)
        _advice(out, entry)


def _causes(out: Console, causes: Sequence[FindingEntry]) -> None:
    """What was found here that explains other messages of the log."""
    if causes:
        out.print()
        out.print(Text("On this machine, and in the log too", "bold"))
    for group in alike(causes):
        labelled(out, group[0].status.upper(), f"{group[0].title} (`gpudoctor explain {group[0].check}`)")


def _besides(out: Console, findings: Sequence[FindingEntry], told: bool) -> None:
    """What is wrong here, and explains nothing of the log."""
    bad = [group for group in alike(findings) if group[0].status == "fail" or not told]
    if bad:
        out.print()
        details = "Wrong on this machine too, but no reason for what the log says" if told else "Found on this machine"
        out.print(Text(details, "bold"))
    for group in bad:
        labelled(out, group[0].status.upper(), f"{group[0].title} ({group[0].check})")


def _harmless(out: Console, entries: Sequence[SymptomEntry], verbose: bool) -> None:
    if not entries:
        return
    lines = sum(entry.times for entry in entries)
    programs = ", ".join(dict.fromkeys(entry.program for entry in entries))
    out.print()
    _sentence(out, f"Left out as harmless: {lines} line{'s' * (lines != 1)} of {programs}.")
    for entry in entries if verbose else ():
        labelled(out, "", f"{entry.id} ({entry.times}): {entry.meaning}")


def _ids(ids: Iterable[str], verbose: bool) -> str:
    """Checks by name; where there are many of an area, their number."""
    every = list(ids)
    area = Counter(id_.split(".")[0] for id_ in every)
    many = {name for name, number in area.items() if number > FEW and not verbose}
    named = [id_ for id_ in every if id_.split(".")[0] not in many]
    return ", ".join([*named, *(f"{area[name]} checks of {name}" for name in sorted(many))])


def _sentenced(meaning: str) -> str:
    return meaning[:1].upper() + meaning[1:]


def _sentence(out: Console, text: str) -> None:
    for line in wrapped(text, out.width):
        out.print(Text(line), soft_wrap=True)
