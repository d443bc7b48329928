"""The report as test cases, for formats that know nothing but tests."""

import msgspec

from gpudoctor.report.failures import way
from gpudoctor.report.model import FindingEntry, Report, SmokeEntry, SmokeTestEntry, word
from gpudoctor.report.numbers import number


class Case(msgspec.Struct, frozen=True):
    """One test case.

    Attributes:
        group: the area of the check, or "smoke".
        name: what was asked, and about what.
        failure: why it failed, with what to do; "": it did not.
        skipped: why it was not answered; "": it was.
        notes: what else there is to say.
        seconds: how long it took; None: not measured.
        kind: fail, warn or advice where it is a finding.
    """

    group: str
    name: str
    failure: str = ""
    skipped: str = ""
    notes: str = ""
    seconds: float | None = None
    kind: str = ""


def cases(report: Report) -> list[Case]:
    """Findings fail (advice does not), unknowns are skipped, and what passed is one case; without a GPU nothing did."""
    found = [_finding(entry) for entry in report.findings]
    found += [
        Case(one.check.split(".")[0], f"{one.check} ({one.subject})", skipped=one.reason or "unknown")
        for one in report.unknown
    ]
    found += [_smoke(run, test) for run in report.smoke for test in run.tests]
    if report.status == "no-gpu":
        return [*found, Case("gpudoctor", word(report.status), skipped=" ".join(report.next) or "nothing to diagnose")]
    passed = f"{number(report.summary.passed)} checks passed"
    return [*found, Case("gpudoctor", passed, notes="\n".join(report.next))]


def failure_text(entry: FindingEntry) -> str:
    """A finding as lines: message, cause, evidence, fixes, effects."""
    lines = [entry.message, f"cause: {entry.cause}", *(f"evidence: {seen}" for seen in entry.evidence)]
    for place, fix in enumerate(entry.fixes):
        lines += [*way(fix, place), *([f"  verify: {fix.verify}"] if fix.verify else [])]
    lines += [f"effect: {follows.check}: {follows.message}" for follows in entry.consequences]
    return "\n".join(lines)


def _finding(entry: FindingEntry) -> Case:
    area, name, text = entry.check.split(".")[0], f"{entry.check} ({entry.subject})", failure_text(entry)
    if entry.status == "advice" and entry.check == "device.no-gpu":
        return Case(area, name, skipped=entry.message, notes=text, kind=entry.status)
    if entry.status == "advice":
        return Case(area, name, notes=text, kind=entry.status)
    return Case(area, name, failure=text, kind=entry.status)


def _smoke(run: SmokeEntry, test: SmokeTestEntry) -> Case:
    name = " ".join(part for part in (run.backend, run.device, test.test, test.variant) if part)
    figures = "\n".join(
        f"{f.name}: {f.value:g} {f.unit}" + (f" of {f.limit:g}" if f.limit else "") for f in test.figures
    )
    if test.outcome == "done":
        return Case("smoke", name, notes=figures, seconds=test.seconds)
    # Whether what did not end is a failure, the findings say.
    return Case("smoke", name, skipped=test.message or test.outcome, notes=figures, seconds=test.seconds)
