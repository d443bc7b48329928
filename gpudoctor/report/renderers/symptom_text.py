"""What a log says and which finding explains it, for a person: the root cause first, the machine last."""

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from gpudoctor.knowledge.symptoms import capitalized
from gpudoctor.maybe import phrase, phrases
from gpudoctor.report.grouping import alike
from gpudoctor.report.model import FindingEntry, RankEntry, Report, SymptomEntry
from gpudoctor.report.numbers import number, spans
from gpudoctor.report.renderers.header import header
from gpudoctor.report.renderers.text import console, finding, fix_lines, fixes, headline, labelled, written
from gpudoctor.report.sanitize import wrapped

# Ids of one area that are listed by name; more are counted.
FEW = 4
CHECKED = "This machine was checked: nothing found on it explains this message."
UNCLEAR = "This machine was checked; whether what was found on it explains this message is unknown."
ROLES = {
    "same": "same cause",
    "follows": "caused by the first",
    "warning": "warning",
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
    reported = [entry for entry in report.symptoms if entry.role != "harmless"]
    elsewhere = report.log_origin is not None and report.log_origin.where == "elsewhere"
    typed = report.log_origin is not None and report.log_origin.typed
    if not reported and not typed:
        _sentence(out, "No known error in the log.")
    shown = answer(out, report, verbose)
    _others(out, reported[1:])
    _ranks(out, report)
    causes = [f for f in report.findings if _explains(f, reported)]
    _causes(out, [f for f in causes if f not in shown])
    _harmless(out, [entry for entry in report.symptoms if entry.role == "harmless"], verbose, typed)
    if not elsewhere:
        known = all(entry.id or entry.fixes for entry in reported)
        _besides(out, [f for f in report.findings if f not in causes], bool(reported), known, typed)
    _origin(out, report)
    if not elsewhere:
        out.print()
        header(out, report)
        for sentence in report.next:
            _sentence(out, sentence)
    return written(out).lstrip("\n")


def answer(out: Console, report: Report, verbose: bool) -> list[FindingEntry]:
    """Print the finding that explains the root message, with its fix, then what the message means.

    The finding is about this machine, and the meaning about any: in a line, where the finding has a fix.

    Returns:
        The findings that were printed.
    """
    if (root := report.root_symptom) is None:
        return []
    if root.notice:
        out.print()
        _sentence(out, root.notice)
    causes = (list(g) for g in alike(report.findings) if g[0].check in root.explained_by[:1])
    group: list[FindingEntry] = next(causes, [])
    if group:
        finding(out, group[0], group[1:], verbose, len(report.pythons) > 1, ("CAUSE", "bold red"))
    _message(out, report, root, group, verbose)
    return group


def _explains(entry: FindingEntry, reported: Sequence[SymptomEntry]) -> bool:
    return any(entry.check in one.explained_by for one in reported)


def _message(out: Console, report: Report, root: SymptomEntry, group: Sequence[FindingEntry], verbose: bool) -> None:
    """What a message means, what was ruled out here, and what helps; where a finding's fix does, the meaning alone."""
    out.print()
    headline(out, "MESSAGE", "bold red", capitalized(root.meaning))
    typed, short = report.log_origin is not None and report.log_origin.typed, bool(group and group[0].fixes)
    if typed and short and not verbose:
        return
    labelled(out, "asked" if typed else "log" if root.line else "", _place(root) + root.message)
    for details in root.details:
        labelled(out, "evidence", details)
    if short and not verbose:
        return
    here = report.log_origin and report.log_origin.where != "elsewhere"
    silent = bool(root.fixes) and not root.ruled_out  # no check looks for its cause, and the fixes say what to do
    if root.unexplained and not group and not root.notice and here and not silent:
        labelled(out, "here", CHECKED if root.id or root.fixes or not report.findings else UNCLEAR)
    if root.ruled_out and (root.unexplained or verbose):
        labelled(out, "ruled out", _ids(root.ruled_out, verbose), "dim")
    if root.unknown:
        labelled(out, "unknown", f"{_ids(root.unknown, verbose)} (could not be checked)", "dim")
    fixes(out, root.fixes, verbose)
    for place, known in enumerate(root.nearest):
        labelled(out, "nearest" if place == 0 else "", capitalized(known))
    _advice(out, root)


def _origin(out: Console, report: Report) -> None:
    """Whose log it is, where the log itself decided against this machine, or cannot tell although it matters."""
    found = report.log_origin
    if found is None or found.where == "here":
        return
    if found.where == "elsewhere" and found.evidence:
        seen, source = "; ".join(found.evidence), "message" if found.typed else "log"
        seen = seen.replace(" in the log", f" in the {source}")
        out.print()
        _sentence(
            out,
            f"The {source} is from another machine ({seen}): explained from the {source} alone. --here checks it here.",
        )
    elif found.where == "unknown" and any(entry.explained_by or entry.ruled_out for entry in report.symptoms):
        out.print()
        _sentence(out, "The log does not show which machine it is from. If it is from another one: add --elsewhere.")


def _advice(out: Console, entry: SymptomEntry) -> None:
    if entry.advice:
        labelled(out, "note", f"{entry.advice}.")


def _place(entry: SymptomEntry) -> str:
    """Where a message is: "line 12 (rank 3, 8 times): "."""
    more = [*phrases(phrase("rank {}", entry.rank))] + [f"{entry.times} times"] * (entry.times > 1)
    reported = f" ({', '.join(more)})" if more else ""
    return f"line {entry.line}{reported}: " if entry.line else ""


def _others(out: Console, entries: Sequence[SymptomEntry]) -> None:
    """The other messages, in the order in which they stand in the log."""
    if not entries:
        return
    out.print()
    out.print(Text("Also in the log", "bold"))
    for entry in sorted(entries, key=lambda one: one.line):
        labelled(out, f"{entry.line:>6}", entry.message)
        labelled(out, "", f"({ROLES.get(entry.role, 'error')}) {capitalized(entry.meaning)}.")
        for details in entry.details:
            labelled(out, "", details)
        for one in entry.fixes[:1] if entry.role in ("also", "warning") else ():
            fix_lines(out, one, "  fix", False, one.verify or "")
        _advice(out, entry)


def _ranks(out: Console, report: Report) -> None:
    """What became of each rank; ranks that say the same share a line."""
    groups: dict[tuple[str, str], list[RankEntry]] = {}
    for one in report.ranks:
        groups.setdefault((one.role, one.message), []).append(one)
    if groups:
        out.print()
        out.print(Text("Ranks", "bold"))
    for (role, message), same in groups.items():
        names = f"rank {spans(known)}" if (known := [one.rank for one in same if one.rank is not None]) else same[0].log
        place = f"{same[0].log}:{same[0].line}: " if same[0].line else ""
        text = message or f"no error in {number(same[0].lines)} lines"
        labelled(out, role, f"{names}: {place}{text}")


def _causes(out: Console, causes: Sequence[FindingEntry]) -> None:
    """What was found here that explains other messages of the log."""
    if causes:
        out.print()
        out.print(Text("Also in the log, and explained by findings on this machine", "bold"))
    for group in alike(causes):
        labelled(out, group[0].status.upper(), f"{group[0].title} (`gpudoctor explain {group[0].check}`)")


def _besides(out: Console, findings: Sequence[FindingEntry], reported: bool, known: bool, typed: bool) -> None:
    """What is wrong here, and explains nothing of the log; whether it does is not known of an unknown error."""
    shown = ("fail",) if known else ("fail", "warn")
    bad = [group for group in alike(findings) if group[0].status in shown or not reported]
    if bad:
        out.print()
        errors = "this message" if typed else "the log's errors"
        other = f"Also wrong on this machine{f', but not the cause of {errors}' if known else ''}"
        out.print(Text(other if reported else "Found on this machine", "bold"))
    for group in bad:
        labelled(out, group[0].status.upper(), f"{group[0].title} ({group[0].check})")


def _harmless(out: Console, entries: Sequence[SymptomEntry], verbose: bool, typed: bool) -> None:
    if not entries:
        return
    if typed:
        headline(out, "MESSAGE", "bold green", f"Harmless: {entries[0].meaning}")
        return
    lines = sum(entry.times for entry in entries)
    programs = ", ".join(dict.fromkeys(entry.program for entry in entries))
    out.print()
    _sentence(out, f"Omitted as harmless: {number(lines)} line{'s' * (lines != 1)} of {programs}.")
    for entry in entries if verbose else ():
        labelled(out, "", f"{entry.id} ({entry.times}): {entry.meaning}")


def _ids(ids: Iterable[str], verbose: bool) -> str:
    """Checks by name; where there are many of an area, their number."""
    every = list(ids)
    area = Counter(id_.split(".")[0] for id_ in every)
    many = {name for name, count in area.items() if count > FEW and not verbose}
    named = [id_ for id_ in every if id_.split(".")[0] not in many]
    return ", ".join([*named, *(f"{area[name]} {name} checks" for name in sorted(many))])


def _sentence(out: Console, text: str) -> None:
    for line in wrapped(text, out.width):
        out.print(Text(line), soft_wrap=True)
