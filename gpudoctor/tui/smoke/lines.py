"""The results as lines of words with their looks: a row a figure, a bar against the limit; no widget in here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpudoctor.facts import Facts
from gpudoctor.report.cpu_gpu_model import CpuGpuEntry
from gpudoctor.report.model import FindingEntry, Report, SmokeEntry, SmokeTestEntry
from gpudoctor.report.sanitize import clean, wrapped
from gpudoctor.report.smoke import gaps
from gpudoctor.report.smoke_rows import SmokeRow, columns, listed, remarks, rows, title

LONGEST_BAR = 30  # columns
# Columns in which a remark is broken next to its row; with fewer, one that does not fit stands beneath, at DEEPER.
ROOMY, LEAST, DEEPER = 34, 20, 6
LOOKS = {
    "failed": "fail",
    "hung": "fail",
    "died": "fail",
    "stopped": "warn",
    "not reached": "dim",
    "unsupported": "dim",
}

ON_CPU = "All tests ran on the CPU: this proves nothing about a GPU."
BAD = ("failed", "hung", "died")
WORST = ("failed", "stopped", "not reached", "done", "unsupported")

# A piece of a line: its text, and one of "", heading, dim, bar, track, fail, warn.
Piece = tuple[str, str]
Line = list[Piece]


def bar(share: float, width: int) -> tuple[str, str]:
    """A bar of a share (1: full), and the track that is left of its width."""
    halves = round(2 * width * min(1.0, max(0.0, share)))
    text = "━" * (halves // 2) + "╸" * (halves % 2)
    return text, "─" * (width - len(text))


def table(entry: SmokeEntry, width: int) -> list[Line]:
    """The lines of a backend on a device.

    Args:
        entry: what was measured, perhaps not to its end.
        width: columns there are.
    """
    lines: list[Line] = [[(line, "heading")] for line in wrapped(title(entry), max(LEAST, width))]
    if parts := remarks(entry):
        lines += [[("  " + line, "dim")] for line in wrapped(", ".join(parts), max(LEAST, width - 2))]
    if entry.message and not any(test.message == entry.message for test in entry.tests):
        look = LOOKS.get(entry.outcome, "")
        lines += [[("  " + line, look)] for line in wrapped(entry.message, max(LEAST, width - 2))]
    shown = list(_rows(entry.tests))
    wide, long = columns((row for row, _ in shown), width, LONGEST_BAR)
    for row, outcome in shown:
        lines += _lines(row, LOOKS.get(outcome, ""), width, wide, long)
    return lines


def _rows(tests: Iterable[SmokeTestEntry]) -> Iterator[tuple[SmokeRow, str]]:
    """Each row with its test's outcome; tests that were not reached for the same reason are one row."""
    missed: list[SmokeTestEntry] = []
    for test in tests:
        if test.outcome == "not reached" and (not missed or missed[0].message == test.message):
            missed.append(test)
            continue
        yield from _missed(missed)
        missed = [test] if test.outcome == "not reached" else []
        if not missed:
            yield from ((row, test.outcome) for row in rows(test))
    yield from _missed(missed)


def _missed(tests: list[SmokeTestEntry]) -> Iterator[tuple[SmokeRow, str]]:
    if len(tests) == 1:
        yield from ((row, "not reached") for row in rows(tests[0]))
    elif tests:
        names = ", ".join(dict.fromkeys(test.test for test in tests))
        remark = ": ".join(filter(None, (names, tests[0].message)))
        number = len({test.test for test in tests})
        yield SmokeRow(f"{number} test{'s' * (number != 1)}", "not reached", None, remark), "not reached"


def _lines(row: SmokeRow, look: str, width: int, wide: int, long: int) -> list[Line]:
    """One row; a remark goes on beneath itself, or stands beneath the row where there is no room next to it."""
    at = wide + 4
    line: Line = [(f"  {clean(row.name)}", ""), (f"{clean(row.value):>{wide - len(clean(row.name))}}  ", look)]
    if row.share is not None:
        full, track = bar(row.share, long)
        line += [(full, "bar"), (track, "track"), (f"{100 * row.share:4.0f}% ", "")]
        at += long + len(" 100% ")
    beneath = width - at < min(ROOMY, len(row.remark))
    at = DEEPER if beneath else at
    remark = wrapped(row.remark, max(LEAST, width - at)) if row.remark else []
    if remark and not beneath:
        line.append((remark.pop(0), "dim"))
    return [line, *([(" " * at + words, "dim")] for words in remark)]


def with_comparisons(
    entries: Sequence[SmokeEntry], running: bool, price: float | None = None
) -> list[SmokeEntry | CpuGpuEntry]:
    """The entries that have lines of their own, and what the others come to.

    Args:
        entries: one for each backend on each device.
        running: whether more will come: a GPU that was not reached yet is not missing.
        price: dollars per hour of the machine, where the user gave it.
    """
    if not any(test.test == "compare" for entry in entries for test in entry.tests):
        return list(entries)
    from gpudoctor.report.cpu_gpu import comparisons

    found = [one for one in comparisons(entries, price) if one.gpu is not None or not running]
    return [*(entry for entry in entries if listed(entry) or (running and not found)), *found]


# -- what they come to ---------------------------------------------------------------------------------------


def findings(report: Report | None) -> tuple[FindingEntry, ...]:
    """The findings of the smoke tests, and those that explain one of theirs."""
    if report is None:
        return ()
    return tuple(
        found
        for found in report.findings
        if any(check.startswith("smoke.") for check in (found.check, *(c.check for c in found.consequences)))
    )


def verdict(facts: Facts | None, report: Report | None) -> list[Piece]:
    """What the figures come to where no finding says it: what was proven, and what was not."""
    runs = facts.smoke.runs if facts else ()
    if facts is None or not runs:
        return []
    open_ = [(clean(gap.reason), "warn") for gap in gaps(facts)]
    if all(run.kind == "cpu" for run in runs) and not facts.smoke.instead:
        open_.append((ON_CPU, "warn"))
    judged = [[(test.name, test.outcome) for test in run.tests if test.name != "compare"] for run in runs]
    done = outcomes(judged)["done"]
    if not done or findings(report):
        return open_
    what = "1 test passed" if done == 1 else f"{done} tests passed"
    return [(f"{what}, no problems found.", "pass"), *open_]


def outcomes(jobs: Iterable[Iterable[tuple[str, str]]]) -> Counter[str]:
    """How many tests ended in which way, each counted once for its job, as before they were started.

    Args:
        jobs: of each its tests, by name and outcome; one that runs in several data types is there as many times, and
            ended in the worst way of them.
    """
    found: Counter[str] = Counter()
    for tests in jobs:
        worst: dict[str, str] = {}
        for name, outcome in tests:
            ending = "failed" if outcome in BAD else outcome
            worst[name] = min(ending, worst.get(name, ending), key=WORST.index)
        found.update(worst.values())
    return found


def ended(entries: Iterable[SmokeEntry], stopped: bool, found: int) -> str:
    """How a run ended, in a line: "Stopped after ..." is put before it by those who knows when."""
    count = outcomes([(test.test, test.outcome) for test in entry.tests] for entry in entries)
    parts = [f"{count['done']} done"]
    parts += [f"{count['failed']} failed"] if count["failed"] else []
    parts += [f"{count['stopped']} stopped"] if count["stopped"] else []
    parts += [f"{count['unsupported']} not possible"] if count["unsupported"] else []
    parts += [f"{count['not reached']} not reached"] if count["not reached"] else []
    parts += [f"{found} finding{'s' * (found != 1)}"] if found else []
    return ("Stopped" if stopped else "Finished") + ": " + ", ".join(parts) + "."
