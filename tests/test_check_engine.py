"""One check, one subject, one verdict: problem, well, unknown, skipped, broken."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpudoctor.check_engine import MACHINE, About, Check, Fix, Outcome, Problem, Severity, judge, run
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, known


def one_machine(facts: Facts) -> Iterator[tuple[About, Facts]]:
    yield MACHINE, facts


def no_machine(_: Facts) -> Iterator[tuple[About, Facts]]:
    return iter(())


def two_gpus(facts: Facts) -> Iterator[tuple[About, int]]:
    yield About("GPU 0", gpu="a"), 0
    known(facts.gpus)
    yield About("GPU 1", gpu="b"), 1


def made(function: Callable[[Any], Any], **texts: Any) -> Check[Any]:
    """A check named after its function, in the area "health"."""
    function.__module__ = f"gpudoctor.checks.health.{function.__name__}"
    plain: dict[str, Any] = {"title": "T", "severity": Severity.ERROR, "cause": "C", "targets": one_machine}
    return Check(function, **(plain | texts))


def message(text: Any) -> Callable[[Any], Any]:
    def too_hot(_: Any) -> Any:
        return text

    return too_hot


def fails(error: Exception) -> Callable[[Any], Any]:
    def too_hot(_: Any) -> Any:
        raise error

    return too_hot


@pytest.mark.parametrize(
    ("function", "outcome", "text"),
    [
        (message(None), Outcome.PASS, ""),
        (message("It is hot."), Outcome.PROBLEM, "It is hot."),
        (message(Problem("It is hot.", ("90 C",))), Outcome.PROBLEM, "It is hot."),
        (lambda _: known(Unknown("NVML: Not Supported")), Outcome.UNKNOWN, "NVML: Not Supported"),
        (fails(ZeroDivisionError("division by zero")), Outcome.BROKEN, "ZeroDivisionError: division by zero"),
    ],
)
def test_one_subject(function: Callable[[Any], Any], outcome: Outcome, text: str) -> None:
    function.__name__ = "too_hot"
    (verdict,) = run(made(function), Facts())
    assert (verdict.outcome, verdict.message) == (outcome, text)


def test_id_comes_from_the_file() -> None:
    assert made(message(None)).id == "health.too-hot"


def test_no_subject_is_skipped() -> None:
    (verdict,) = run(made(message("never"), targets=no_machine), Facts())
    assert verdict.outcome is Outcome.SKIPPED


def test_subjects_before_an_unknown_one_keep_their_verdicts() -> None:
    verdicts = run(made(message("hot"), targets=two_gpus), Facts())
    assert [(v.about.label, v.outcome) for v in verdicts] == [
        ("GPU 0", Outcome.PROBLEM),
        ("this machine", Outcome.UNKNOWN),
    ]


def test_fixes_are_made_for_the_subject() -> None:
    def fixes(facts: Facts) -> tuple[Fix, ...]:
        return (Fix(f"Mend {facts.version}."),)

    (verdict,) = run(made(message("hot"), fixes=fixes), Facts(version="1"))
    assert [fix.message for fix in verdict.fixes] == ["Mend 1."]


def test_a_problem_brings_its_own_fixes_and_severity() -> None:
    problem = Problem("hot", fixes=(Fix("Cool it."),), severity=Severity.ADVICE)
    (verdict,) = run(made(message(problem), fixes=(Fix("Other."),)), Facts())
    assert ([fix.message for fix in verdict.fixes], verdict.severity) == (["Cool it."], Severity.ADVICE)


def test_fixes_that_fail_make_the_check_broken() -> None:
    def fixes(_: Facts) -> tuple[Fix, ...]:
        raise KeyError("branch")

    (verdict,) = run(made(message("hot"), fixes=fixes), Facts())
    assert (verdict.outcome, verdict.message) == (Outcome.BROKEN, "KeyError: 'branch'")


def test_deprecated_checks_are_not_asked() -> None:
    assert list(judge(Facts(), [made(message("hot"), deprecated="see health.other")])) == []


@pytest.mark.parametrize(
    ("here", "there", "touches"),
    [
        (About(), About(gpu="a"), True),
        (About(gpu="a"), About(gpu="a"), True),
        (About(gpu="a"), About(gpu="b"), False),
        (About(gpu="a"), About(python="p"), True),
        (About(python="p"), About(python="q"), False),
    ],
)
def test_what_a_cause_can_explain(here: About, there: About, touches: bool) -> None:
    assert here.touches(there) is touches
