"""Runs with real workers: started, watched, ended, and left alone while the user is elsewhere."""

import time

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from gpudoctor.machine import Machine
from gpudoctor.smoketests.devices import SmokeDevice
from gpudoctor.smoketests.plan import SmokeJob
from gpudoctor.tui.session import SessionSource
from gpudoctor.tui.smoke.control import SmokeControl
from gpudoctor.tui.smoke.progress import Course
from gpudoctor.tui.smoke.runner import SmokeRunner
from gpudoctor.tui.smoke.selection import SmokePicks
from tests.builders import plain_host
from tests.tui.screens import run, settled
from tests.tui.smoke.kit import ILL, Examined, There, at, children


@pytest.fixture(autouse=True)
def _ill(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker has the fault that a test names; none: it is well."""
    monkeypatch.setattr(SmokeRunner, "worker", ILL)


async def choose(there: There, *tests: str) -> None:
    """Pick these tests alone, on the CPU."""
    on_cpu(there)
    picks = there.place.query_one("#tests", SmokePicks)
    for place, item in enumerate(picks.items):
        if (item.value in picks.picked) != (item.value in tests):
            picks.highlighted = place
            await there.pilot.press("space")
    assert picks.picked == tests


def on_cpu(there: There) -> None:
    """Pick the CPU, which nobody but the user does where there is no GPU."""
    devices = there.place.query_one("#devices", SmokePicks)
    assert devices.picked == ()
    devices.all_or_none()


def ended(there: There) -> bool:
    return there.runner.course is not None and not there.runner.running


def reached(there: There, stage: str) -> bool:
    return there.runner.course is not None and there.runner.course.stage == stage


def test_a_run_ends_with_its_figures_in_the_sessions_report() -> None:
    async def do(there: There) -> None:
        await choose(there, "transfer")
        await there.press("s")
        assert there.runner.course is not None
        assert there.app.focused is there.place.query_one("#smoke-results")
        await there.until(lambda: ended(there))
        assert "transfer copy" in there.text
        assert "GB/s" in there.text
        assert "Finished: 1 done, after 0:" in there.text
        assert "1 test passed, no problems found." in there.text
        assert "this proves nothing about a GPU" in there.text
        report, facts = there.app.session.report, there.app.session.facts
        assert report is not None
        assert facts is not None
        assert [entry.device for entry in report.smoke] == ["CPU"]
        assert [run.outcome for run in facts.smoke.runs] == ["done"]
        await there.press("v")

    at(plain_host(), do, (80, 24))


def test_results_come_while_the_next_test_runs() -> None:
    async def do(there: There) -> None:
        await choose(there, "mnist", "stress")
        await there.press("s")
        await there.until(lambda: "images/s" in there.text)
        assert there.runner.running
        assert "mnist" in there.text
        assert "of 2 tests" in there.text
        assert "■ Stop" in there.text
        await there.press("s")
        await there.until(lambda: ended(there))

    at(plain_host(), do)


@pytest.mark.parametrize(("fault", "key"), [("spins", "s"), ("sleeps", "escape"), ("deaf", "button")])
def test_a_run_is_ended_at_any_moment_and_leaves_no_process(fault: str, key: str) -> None:
    before = children()

    async def do(there: There) -> None:
        await choose(there, "mnist", "transfer")
        await there.press("s")
        await there.until(lambda: reached(there, "mnist"))
        assert children() - before
        await (there.click("#go") if key == "button" else there.press(key))
        assert "Stopping: measured results are kept" in there.text or fault == "spins"
        await there.until(lambda: ended(there), 10)
        assert children() <= before
        assert "Stopped: 0 done" in there.text
        assert "the run was stopped" in there.text
        assert there.picked("tests") == ("mnist", "transfer")
        assert not there.place.query_one("#tests").disabled

    at(plain_host(), do, fault=fault)


def test_what_was_measured_before_the_end_is_kept_and_marked() -> None:
    async def do(there: There) -> None:
        await choose(there, "matmul", "mnist", "transfer", "bandwidth")
        await there.press("s")
        await there.until(lambda: reached(there, "mnist"))
        await there.pilot.press("s")
        await there.until(lambda: ended(there), 10)
        assert "matmul fp32" in there.text
        assert "FLOP/s" in there.text
        assert "mnist stopped the run was stopped" in there.text
        assert "2 tests not reached transfer, bandwidth: the run was stopped" in there.text
        assert there.app.session.facts is not None
        assert there.app.session.facts.smoke.runs[0].outcome == "stopped"

    at(plain_host(), do, (150, 40), fault="spins")


def test_a_finding_leads_to_the_diagnosis() -> None:
    async def do(there: There) -> None:
        await choose(there, "transfer")
        await there.press("s")
        await there.until(lambda: ended(there))
        assert "1 finding: Enter, click or d shows the cause and the fix" in there.text
        assert "FAIL" in there.text
        there.place.query_one("#smoke-findings", OptionList).focus()
        await there.pilot.press("enter")
        await there.until(lambda: there.app.current_mode == "diagnosis")
        await there.pilot.press("3")
        await there.until(lambda: there.app.current_mode == "smoke")
        await there.pilot.press("d")
        await there.until(lambda: there.app.current_mode == "diagnosis")

    at(plain_host(), do, fault="copy")


def test_a_run_goes_on_while_the_user_is_elsewhere() -> None:
    async def do(there: There) -> None:
        await choose(there, "matmul", "mnist")
        await there.press("s", "4")
        assert there.app.current_mode == "environment"
        await there.until(lambda: reached(there, "mnist"))
        assert there.runner.running
        there.runner.halt()
        await there.until(lambda: any("Stopped: 1 done" in note.message for note in there.app._notifications), 10)
        await there.press("3")
        assert "matmul fp32" in there.text
        assert "FLOP/s" in there.text

    at(plain_host(), do, fault="spins")


def test_an_examination_ends_the_run() -> None:
    before = children()

    async def do(there: There) -> None:
        await choose(there, "mnist")
        await there.press("s")
        await there.until(lambda: reached(there, "mnist"))
        type(there.app).facts = None
        await there.press("r")
        await there.until(lambda: ended(there), 10)
        assert children() <= before
        assert there.app.session.running
        assert "The checks are running" in there.text
        assert "the run was stopped" in there.text
        type(there.app).facts = plain_host()
        await there.press("r")
        assert "The checks were re-run since: these figures are from before." in there.text
        assert there.app.session.report is not None
        assert there.app.session.report.smoke == ()

    at(plain_host(), do, fault="sleeps")


def test_quitting_ends_the_run() -> None:
    before = children()

    async def do(there: There) -> None:
        await choose(there, "mnist")
        await there.press("s")
        await there.until(lambda: reached(there, "mnist"))
        there.runner._halted.set()  # what unmounting does; `q` closes all doors for children, of later tests too

    at(plain_host(), do, fault="sleeps")
    end = time.monotonic() + 10
    while children() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert children() <= before


def test_only_one_run_at_a_time_and_its_choice_stays() -> None:
    async def do(there: There) -> None:
        await choose(there, "mnist")
        await there.press("s")
        await there.until(lambda: reached(there, "mnist"))
        course = there.runner.course
        await there.press("a")
        assert there.runner.course is course
        assert there.picked("tests") == ("mnist",)
        await there.pilot.press("s")
        await there.until(lambda: ended(there), 10)

    at(plain_host(), do, fault="spins")


def test_a_fault_of_ours_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("nothing is as it was")

    monkeypatch.setattr("gpudoctor.tui.smoke.runner.conduct", broken)

    async def do(there: There) -> None:
        on_cpu(there)
        await there.press("s")
        await there.until(lambda: ended(there))
        assert "gpudoctor itself failed: ValueError: nothing is as it was" in there.text
        await there.press("space", "s")
        assert there.runner.course is not None

    at(plain_host(), do)


def test_a_machine_that_is_gone_is_told_when_tests_are_started() -> None:
    def gone() -> Machine:
        raise ValueError("There is no interpreter /x/bin/python.")

    class Live(Examined):
        facts = plain_host()

    async def go(pilot: Pilot[int]) -> None:
        await settled(pilot)
        there = There(pilot)
        on_cpu(there)
        await there.press("s")
        await there.until(lambda: "There is no interpreter /x/bin/python." in there.text)
        assert not there.runner.running

    run(lambda: Live(SessionSource(make=gone)), go, (120, 40))


def test_the_bar_of_a_run_is_as_long_as_what_is_done() -> None:
    async def do(there: There) -> None:
        job = SmokeJob(backend="cpu", python="", target=SmokeDevice(kind="cpu", label="CPU"), tests=("matmul", "mnist"))
        course = Course((job, job), now=0.0)
        course.title, course.stage, course._job = job.title, "matmul fp32", 1
        there.place.query_one(SmokeControl).follow(course, now=83.0)
        await there.press("down")
        assert "NumPy on CPU job 2 of 2 matmul fp32 83 s" in there.text
        assert "━" * 24 + "─" * 24 + " 2 of 4 tests 1:23" in there.text

    at(plain_host(), do)
