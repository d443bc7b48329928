"""A report that failed, as an exception for scripts."""

from collections.abc import Iterable

from gpudoctor.report.fixes import label, notes
from gpudoctor.report.grouping import alike
from gpudoctor.report.model import FindingEntry, FixEntry, Report


class FailuresError(Exception):
    """Something failed, or there is no GPU; its text is the findings with the commands that fix them.

    Attributes:
        report: the whole report.
    """

    def __init__(self, report: Report, found: tuple[FindingEntry, ...]) -> None:
        self.report = report
        lines = [line for entry, *_ in alike(found) for line in failure_lines(entry)]
        super().__init__("\n".join(lines) or "No GPU was found.")


def failure_lines(entry: FindingEntry) -> list[str]:
    """A finding as a few lines: its message, and each fix."""
    return [f"{entry.check}: {entry.message}", *ways(entry.fixes)]


def ways(fixes: Iterable[FixEntry]) -> list[str]:
    """Fixes as a few lines, of which one is enough."""
    return [line for number, fix in enumerate(fixes) for line in way(fix, number)]


def way(fix: FixEntry, number: int) -> list[str]:
    """A fix as a few lines: its label by its place, the sentence, what is typed, and what it takes or may destroy."""
    lines = [f"{label(fix, number)}: {fix.message}"]
    lines += [f"  {line}" for command in fix.commands for line in command.splitlines()]
    return lines + ([f"  ({'; '.join(after)})"] if (after := notes(fix)) else [])
