"""The report out of facts and verdicts: its status, its counts, and what it shows of the machine."""

from typing import Any

import pytest

from gpudoctor.check_engine import MACHINE, About, Check, Fix, Outcome, Problem, Severity, Verdict
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build, or_none
from gpudoctor.report.model import FixEntry
from gpudoctor.targets import machine
from tests.builders import change, framework, live, nvidia_host, plain_host, python, with_framework


def nothing(_: Facts) -> None:
    """Stand for a check's function."""


def made(id_: str, severity: Severity = Severity.ERROR, **more: Any) -> Check[Facts]:
    """A check with an id."""
    texts: dict[str, Any] = {"title": f"Title of {id_}", "severity": severity, "cause": "C.", "targets": machine}
    one = Check(nothing, **(texts | more))
    one.id, one.area = id_, id_.split(".")[0]
    return one


FAILS, WARNS = made("driver.fails"), made("link.warns", Severity.WARNING)
ADVISES, ESSENTIAL = made("host.advises", Severity.ADVICE), made("driver.asked", essential=True)


def problem(one: Check[Facts], message: str = "It is ill.", about: About = MACHINE, **more: Any) -> Verdict:
    return Verdict(one, about, Outcome.PROBLEM, message, Problem(message, **more), (Fix("Mend it."),))


def unknown(one: Check[Facts], outcome: Outcome = Outcome.UNKNOWN) -> Verdict:
    return Verdict(one, MACHINE, outcome, "nobody knows")


@pytest.mark.parametrize(
    ("verdicts", "status", "ok"),
    [
        ([], "incomplete", False),  # nothing was looked at
        ([Verdict(FAILS, MACHINE, Outcome.SKIPPED)], "incomplete", False),
        ([Verdict(FAILS, MACHINE, Outcome.PASS)], "pass", True),
        ([problem(ADVISES)], "pass", True),
        ([problem(WARNS)], "warn", True),
        ([problem(FAILS), problem(WARNS)], "fail", False),
        ([unknown(FAILS)], "pass", True),
        ([unknown(ESSENTIAL)], "incomplete", False),
        ([unknown(FAILS, Outcome.BROKEN)], "incomplete", False),
        ([unknown(ESSENTIAL), problem(WARNS)], "incomplete", False),
        ([unknown(ESSENTIAL), problem(FAILS)], "fail", False),
        ([problem(WARNS, severity=Severity.ERROR)], "fail", False),
        ([problem(FAILS, severity=Severity.ADVICE)], "pass", True),
    ],
)
def test_status(verdicts: list[Verdict], status: str, ok: bool) -> None:
    report = build(nvidia_host(), verdicts)
    assert (report.status, report.ok) == (status, ok)


def test_what_a_problem_explains_makes_nothing_incomplete() -> None:
    follows = made("pytorch.follows", caused_by=("driver.fails",))
    asked = made("driver.asked", caused_by=("driver.fails",), essential=True)
    report = build(nvidia_host(), [problem(FAILS), problem(follows, "It follows."), unknown(asked)])
    (finding,) = report.findings
    assert [(c.check, c.message, c.status) for c in finding.consequences] == [
        ("pytorch.follows", "It follows.", "fail")
    ]
    assert report.unknown == ()
    summary = report.summary
    assert (summary.fail, summary.consequences, summary.unknown, summary.broken) == (1, 1, 0, 0)


def test_counts() -> None:
    verdicts = [
        problem(FAILS), problem(WARNS), problem(ADVISES), unknown(made("a.u")), unknown(made("a.b"), Outcome.BROKEN),
        Verdict(made("a.p"), MACHINE, Outcome.PASS), Verdict(made("a.s"), MACHINE, Outcome.SKIPPED),
    ]  # fmt: skip
    s = build(nvidia_host(), verdicts).summary
    assert (s.fail, s.warn, s.advice, s.unknown, s.broken, s.passed, s.skipped) == (1, 1, 1, 1, 1, 1, 1)


def test_a_problem_knows_its_cause_better_than_its_check() -> None:
    about = About(label="GPU 3", gpu="0000:01:00.0")
    (entry,) = build(nvidia_host(), [problem(FAILS, "S.", about, cause="Own.", evidence=("seen",))]).findings
    assert (entry.cause, entry.evidence, entry.subject) == ("Own.", ("seen",), "GPU 3")
    assert (entry.fixes, entry.run) == ((FixEntry("Mend it."),), "")
    (entry,) = build(nvidia_host(), [problem(FAILS)]).findings
    assert entry.cause == "C."


def test_the_machine() -> None:
    shown = build(nvidia_host(), []).machine
    assert (shown.distribution, shown.kernel, shown.platform) == ("Ubuntu 24.04.3 LTS", "6.8.0-60-generic", "bare")
    assert (shown.driver, shown.driver_flavor, shown.driver_cuda) == ("570.169", "open", "12.8")
    assert build(plain_host(), []).machine.driver is None


def test_the_unknown_is_shown_as_none_and_never_as_zero() -> None:
    why = Unknown("no permission")
    report = build(change(nvidia_host(), "gpus.0.memory", why), [])
    assert report.gpus[0].memory is None
    assert build(Facts(), []).machine.kernel is None
    assert or_none(why) is None
    assert or_none(0) == 0


@pytest.mark.parametrize(
    ("asked", "sees", "error"),
    [
        (live(2), 2, None),
        (live(0, error="no driver"), 0, "no driver"),
        (live(1, available=False, error="x"), 0, "x"),
        (live(1, count=Unknown("hung")), None, None),
        (live(1, import_error="ImportError: y", available=Unknown("y"), count=Unknown("y")), None, "ImportError: y"),
        (None, None, None),
    ],
)
def test_what_a_framework_sees(asked: Any, sees: int | None, error: str | None) -> None:
    (entry,) = build(with_framework(framework(live=asked)), []).frameworks
    assert (entry.name, entry.version, entry.built_for, entry.sees, entry.error) == (
        "torch", "2.7.1", "12.6", sees, error,
    )  # fmt: skip


def test_every_interpreter_is_listed_and_the_first_is_the_one() -> None:
    import msgspec

    two = (python(framework()), python(path="/usr/bin/python3", error="It died."))
    report = build(msgspec.structs.replace(nvidia_host(), pythons=two), [])
    assert report.python == report.pythons[0]
    assert [(p.path, p.error) for p in report.pythons] == [
        ("/opt/env/bin/python", None),
        ("/usr/bin/python3", "It died."),
    ]
    assert build(nvidia_host(), []).python is None


def test_a_probe_that_failed_makes_the_report_incomplete() -> None:
    """What it would have found may be what is ill: the checks of its part can only skip."""
    facts = change(nvidia_host(), "failed", (("amd", "the probe failed: KeyError: 'x'"),))
    report = build(facts, [Verdict(FAILS, MACHINE, Outcome.PASS)])
    assert (report.status, report.summary.broken, report.summary.unknown) == ("incomplete", 1, 0)
    (entry,) = report.unknown
    assert (entry.check, entry.subject, entry.reason) == ("probe", "amd", "the probe failed: KeyError: 'x'")
