"""The report in the Test Anything Protocol, version 14 (https://testanything.org/tap-version-14-specification.html)."""

from collections.abc import Iterator

from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import clean
from gpudoctor.report.test_cases import Case, cases


def render(report: Report) -> str:
    """A plan and one test point for each case."""
    points = [line for number, case in enumerate(cases(report), 1) for line in _point(number, case)]
    return "\n".join(["TAP version 14", f"1..{len(cases(report))}", *points]) + "\n"


def _point(number: int, case: Case) -> Iterator[str]:
    ok = "not ok" if case.failure else "ok"
    skip = f" # SKIP {_escaped(case.skipped)}" if case.skipped else ""
    yield f"{ok} {number} - {_escaped(case.name)}{skip}"
    if case.failure or case.notes:
        yield "  ---"
        for line in (case.failure or case.notes).splitlines():
            yield f"  # {line}" if not line else f"  {_quoted(line)}"
        yield "  ..."


def _escaped(text: str) -> str:
    """One line without the sign that begins a directive: readers of older versions know no escape for it."""
    return " ".join(clean(text).split()).replace("#", "no.")


def _quoted(text: str) -> str:
    return '- "' + clean(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
