"""The lines above the list: numbers, and how far the probes are."""

from __future__ import annotations

import pytest

from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import Done, Glimpsed
from gpudoctor.report.model import Report, Summary
from gpudoctor.tui.diagnosis.progress import Part, again, probes, summary
from gpudoctor.tui.session import Session, SessionSource
from tests.tui.diagnosis.machines import REPORT, mismatch


def said(parts: list[Part]) -> str:
    return "".join(text for text, _ in parts)


def looking(*ended: StepEnded) -> Session:
    session = Session(SessionSource())
    session.begin()
    for key in ("host", "pci", "torch"):
        session.take(StepStarted(key, key.upper()))
    for event in ended:
        session.take(event)
    return session


def test_before_anything_is_known() -> None:
    assert said(summary(Session(SessionSource()), 80)) == "CHECKING  no results yet"


def test_while_probes_look_nothing_reads_as_a_pass() -> None:
    session = looking()
    session.take(Glimpsed(Report(status="pass", summary=Summary(passed=3))))
    assert said(summary(session, 80)) == "SO FAR  0 failed, 3 passed"


def test_the_numbers_at_the_end_and_on_a_narrow_screen() -> None:
    session = looking()
    session.take(Done(REPORT, mismatch()))
    whole = "FAIL  1 failed, 1 warning, 3 consequences, 1 broken, 1 unknown, 64 passed, 40 not applicable"
    assert said(summary(session, 120)) == whole
    assert said(summary(session, 50)) == "FAIL  1 failed, 1 warning, 3 consequences"


def test_the_examination_itself_failed() -> None:
    session = looking()
    session.fail("ValueError: x")
    assert said(summary(session, 80)).startswith("ERROR")


def test_probes_that_run_are_named_and_one_that_failed_says_why() -> None:
    session = looking(StepEnded("host", "HOST", 0.1), StepEnded("pci", "PCI", 0.2, "OSError:\nno"))
    line = said(probes(session, 100, 3.2))
    assert " 2 of 3 probes, 3 s  " in line
    assert line.endswith("1 failed: PCI: OSError: no  TORCH")
    assert ("fail" in [style for _, style in probes(session, 100)]) is True


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_the_line_of_probes_stays_one_line(width: int) -> None:
    session = looking(StepEnded("pci", "PCI", 0.2, "an error that goes on and on " * 9))
    assert len(said(probes(session, width))) <= max(width, 54)
    assert "\n" not in said(probes(session, width))


def test_after_the_end_only_failures_are_loud() -> None:
    well = looking(*(StepEnded(key, key, 0.1) for key in ("host", "pci", "torch")))
    well.take(Done(REPORT, mismatch()))
    assert said(probes(well, 80)) == "All 3 probes finished in 1.3 s"
    ill = looking(StepEnded("host", "the machine", 0.1, "KeyError: x"))
    ill.take(Done(REPORT, mismatch()))
    assert said(probes(ill, 80)) == "1 of 3 probes failed: the machine: KeyError: x"


@pytest.mark.parametrize("width", [58, 78, 118])
def test_recorded_facts_say_when_in_the_line_of_the_status(width: int) -> None:
    session = Session(SessionSource(title="host.json", facts=mismatch()))
    session.take(Done(REPORT, mismatch()))
    assert probes(session, 100) == []
    line = said(summary(session, width))
    assert line.endswith("  recorded 2026-11-20 08:30 UTC")
    assert len(line) == width


def test_a_source_without_probes_has_no_line() -> None:
    session = Session(SessionSource())
    session.take(Done(REPORT, mismatch()))
    assert probes(session, 80) == []


def test_one_check_that_is_tried() -> None:
    assert said(again("link.narrow-pcie", 6, 12, 80)).endswith(" re-checking link.narrow-pcie: 6 of 12 probes")
    assert "━" * 6 + "─" * 6 in said(again("a.b", 6, 12, 80))


def test_without_a_gpu_nothing_is_said_to_have_passed() -> None:
    session = looking()
    session.take(Done(Report(status="no-gpu", summary=Summary(advice=1, passed=49)), mismatch()))
    assert said(summary(session, 80)) == "NO GPU  0 failed, 1 advice, 49 without a finding"
    assert summary(session, 80)[0][1] == "heading warn"
