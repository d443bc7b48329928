"""The report for a person at a terminal, or in a log."""

from collections.abc import Sequence
from io import StringIO
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from gpudoctor.registry import is_rule
from gpudoctor.report.counts import counts
from gpudoctor.report.fixes import label as label_of
from gpudoctor.report.fixes import notes, verifications
from gpudoctor.report.grouping import alike, effects, evidence, own_commands, sentences, together
from gpudoctor.report.model import FindingEntry, FixEntry, Report, word
from gpudoctor.report.renderers.header import header
from gpudoctor.report.sanitize import clean, wrapped
from gpudoctor.tasks.as_typed import language

# A line longer than this is hard to read, however wide the terminal is.
WIDEST = 100
LABEL = {"fail": ("FAIL", "bold red"), "warn": ("WARN", "bold yellow"), "advice": ("ADVICE", "bold cyan")}
COLOUR = {"fail": "bold red", "warn": "bold yellow", "no-gpu": "bold yellow", "pass": "bold green"}
INDENT = 10  # the width of the head's labels


def render(report: Report, width: int | None = None, colour: bool = False, verbose: bool = False) -> str:
    """The report as text.

    Args:
        report: what to show.
        width: columns; None: 80.
        colour: whether ANSI colours are wanted.
        verbose: list what is unknown, what was ruled out, and references too, and count what does not apply.
    """
    out = console(width, colour)
    shown: list[FindingEntry] = []
    if report.symptoms:
        from gpudoctor.report.renderers.symptom_text import answer

        shown = answer(out, report, verbose)
        out.print()
    header(out, report)
    if report.smoke:
        from gpudoctor.report.renderers.smoke_text import table

        table(out, report)
    for entry, *others in alike(one for one in report.findings if one not in shown):
        finding(out, entry, others, verbose, len(report.pythons) > 1)
    _unknown(out, report, verbose)
    _counts(out, report, verbose)
    for sentence in report.next:
        for line in wrapped(sentence, out.width):
            out.print(Text(line), soft_wrap=True)
    return written(out)


def console(width: int | None = None, colour: bool = False) -> Console:
    """A console that writes into memory, no wider than is good to read."""
    return Console(
        file=StringIO(),
        width=min(width or 80, WIDEST),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )


def written(out: Console) -> str:
    """What was written to a console, without blanks at the ends of lines."""
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def finding(
    out: Console,
    entry: FindingEntry,
    others: list[FindingEntry],
    verbose: bool,
    several: bool,
    label: tuple[str, str] | None = None,
    hint: bool = True,
) -> None:
    """Print a finding, with what others of its kind say besides: what to do first, why afterwards.

    Args:
        out: where to.
        entry: the finding.
        others: findings of its kind.
        verbose: print what is only for who wants to know more.
        several: name the finding's subject.
        label: in place of its status, with its style.
        hint: name the command of ours that carries a fix out.
    """
    word, style = label or LABEL[entry.status]
    out.print()
    headline(out, word, style, entry.title)
    labelled(out, "", entry.message)
    for number, message in enumerate(sentences(entry, others)):
        labelled(out, "also" if number == 0 else "", message)
    fixes(out, together(entry, others), verbose, others)
    if entry.cause:
        labelled(out, "cause", entry.cause)
    for seen in evidence((entry, *others)):
        labelled(out, "evidence", seen, "dim")
    _effects(out, effects((entry, *others)))
    if verbose and entry.affects:
        labelled(out, "affects", ", ".join(entry.affects), "dim")
    if verbose and entry.ruled_out:
        labelled(out, "ruled out", ", ".join(entry.ruled_out), "dim")
    for reference in entry.references if verbose else ():
        labelled(out, "see", reference, "dim")
    if entry.check:
        labelled(out, "id", entry.check + (f" ({entry.subject})" if several else ""), "dim")
    if hint and entry.run:
        labelled(out, "run", entry.run, "dim")
        if " --choice " in entry.run:
            labelled(out, "", "(not the first of the fixes above, which is typed by hand)", "dim")


def headline(out: Console, word: str, style: str, title: str) -> None:
    """A title that needs several lines keeps its indent."""
    for line in wrapped(title, out.width - INDENT):
        out.print(Text.assemble((f"{word:<{INDENT}}", style), (line, "bold")), soft_wrap=True)
        word = ""


def labelled(out: Console, label: str, text: str, style: str = "") -> None:
    """Print text next to a label; further lines keep its indent, and that of an item of a list."""
    for line in wrapped(text, out.width - INDENT, "  " if text.startswith("- ") else ""):
        out.print(Text.assemble((f"{label:<{INDENT}}", "bold blue"), (line, style)), soft_wrap=True)
        label = ""


def fixes(out: Console, entries: tuple[FixEntry, ...], verbose: bool, others: Sequence[FindingEntry] = ()) -> None:
    """Each fix next to its label; a command that verifies several in a row is shown after the last of them.

    Args:
        out: where to.
        entries: the fixes.
        verbose: print what is only for who wants to know more.
        others: findings of the same kind, which need these commands with another index, most of the time.
    """
    for number, (fix, verify) in enumerate(zip(entries, verifications(entries), strict=True)):
        fix_lines(out, fix, label_of(fix, number), verbose, verify)
        for other in others:
            if commands := own_commands(other, entries, number):
                labelled(out, "", f"The same for {other.subject}:", "dim")
                for command in commands:
                    command_line(out, command)


def fix_lines(out: Console, fix: FixEntry, label: str, verbose: bool, verify: str) -> None:
    """A fix next to its label: the sentence, what is typed, what has to be known, and what verifies it."""
    labelled(out, label, fix.message)
    inside = False
    for command, task in zip_longest(fix.commands, fix.tasks[: len(fix.commands)]):
        inside, before = language(task, command) == "python", inside
        if inside and not before:  # a shell takes no line of Python
            labelled(out, "", "In the program:", "dim")
        command_line(out, command)
    if after := notes(fix):
        labelled(out, "", f"({'; '.join(after)})", "dim")
    if verify:
        command_line(out, verify, "verify")
    if fix.undo and (verbose or fix.later):
        labelled(out, "undo", fix.undo, "dim")


def command_line(out: Console, command: str, label: str = "") -> None:
    """A command on lines of its own, as it is typed: never wrapped, so that it can be copied."""
    for line in clean(command).splitlines():
        out.print(Text.assemble((f"{label:<{INDENT}}", "bold blue"), ("  " + line, "green")), soft_wrap=True)
        label = ""


def _effects(out: Console, reported: dict[str, int]) -> None:
    """What follows from the cause; the same sentence for many subjects is said once."""
    for number, (message, times) in enumerate(reported.items()):
        mark = "- " if len(reported) > 1 else ""
        labelled(
            out, "effects" if number == 0 else "", mark + (message if times == 1 else f"{message} ({times} times)")
        )


def _unknown(out: Console, report: Report, verbose: bool) -> None:
    """What is unknown; an operator's own rules always, since each of them was asked for."""
    entries = [one for one in report.unknown if verbose or is_rule(one.check)]
    if entries:
        out.print()
        out.print(Text("Unknown", "bold"))
    for entry in entries:
        word = "broken" if entry.broken else ""
        labelled(out, word, f"{entry.check} ({entry.subject}): {entry.reason}")


def _counts(out: Console, report: Report, verbose: bool) -> None:
    words = ", ".join(counts(report, "unknown" if verbose else "unknown (--verbose lists them)", verbose))
    colour = COLOUR.get(report.status, "bold magenta")
    out.print()
    status, seconds = word(report.status), f"({report.seconds:.1f} s)"
    *lines, last = wrapped(f"{status}  {words}", out.width)
    lines += [f"{last} {seconds}"] if len(last) + len(seconds) < out.width else [last, seconds]
    out.print(Text.assemble((status, colour), lines[0][len(status) :]), soft_wrap=True)
    for line in lines[1:]:
        out.print(Text(line), soft_wrap=True)
