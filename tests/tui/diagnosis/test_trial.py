"""Whether a second look at one check finds a problem mended."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.report.model import Consequence, FindingEntry, Report, UnknownEntry
from gpudoctor.tui.diagnosis.recheck import asked, outcome, renewed
from tests.tui.diagnosis.machines import MISMATCH, NARROW, REPORT, VERDICTS

SECOND = msgspec.structs.replace(NARROW, subject="GPU 1")
BEFORE = msgspec.structs.replace(REPORT, findings=(MISMATCH, NARROW, SECOND))
UNDER = FindingEntry(
    check="device.cold",
    status="fail",
    subject="GPU 0",
    title="The GPU is cold",
    message="It is.",
    cause="Ice.",
    consequences=(Consequence(check=NARROW.check, message="4 lanes.", subject="GPU 0"),),
)


def test_the_check_and_what_explains_it_are_asked() -> None:
    assert asked("driver.library-mismatch", VERDICTS) == ("driver.library-mismatch", "driver.not-loaded", "wsl.*")
    assert asked("nobody.knows-it", VERDICTS) == ("nobody.knows-it",)


NOW = [
    (Report(), "fixed"),
    (Report(findings=(SECOND,)), "fixed"),  # the other GPU's was there before
    (Report(findings=(NARROW,)), "there"),
    (Report(findings=(msgspec.structs.replace(NARROW, subject="GPU 7"),)), "there"),  # by another name
    (Report(findings=(UNDER,)), "there"),
    (Report(unknown=(UnknownEntry(check=NARROW.check, subject="GPU 0", reason="no"),)), "unknown"),
    (Report(unknown=(UnknownEntry(check=NARROW.check, subject="GPU 1", reason="no"),)), "fixed"),
    (Report(unknown=(UnknownEntry(check="probe", subject="pci", reason="no", broken=True),)), "unknown"),
    (Report(unknown=(UnknownEntry(check="host.disk", subject="this machine", reason="no"),)), "fixed"),
]


@pytest.mark.parametrize(("now", "state"), NOW)
def test_what_an_answer_means(now: Report, state: str) -> None:
    assert outcome(NARROW, BEFORE, now).state == state


def test_a_finding_that_is_still_there_is_told_anew_with_its_consequences() -> None:
    now = msgspec.structs.replace(MISMATCH, message="Now another.", consequences=(), ruled_out=())
    trial = outcome(MISMATCH, REPORT, Report(findings=(now,)))
    reported = renewed(MISMATCH, trial)
    assert reported.message == "Now another."
    assert reported.consequences == MISMATCH.consequences
    assert trial.mark == "not fixed"


def test_one_that_follows_from_another_now_names_it() -> None:
    trial = outcome(NARROW, BEFORE, Report(findings=(UNDER,)))
    assert "The GPU is cold" in trial.remark
    assert renewed(NARROW, trial) == NARROW


def test_what_is_mended_is_marked_in_words() -> None:
    trial = outcome(NARROW, BEFORE, Report())
    assert trial.mark == "✓ fixed"
    assert renewed(NARROW, trial) == NARROW
