"""How far a run is, event by event."""

from typing import Any

from gpudoctor.parallel import StepStarted
from gpudoctor.smoketests.events import SmokeEnded, SmokeProgress, SmokeResult, SmokeStage
from gpudoctor.smoketests.options import SmokeOptions
from gpudoctor.smoketests.plan import plan
from gpudoctor.tui.smoke.controller import entry
from gpudoctor.tui.smoke.progress import Course, clock
from tests.checks.smoke_machines import machine

FACTS = machine(count=2)
RUN = FACTS.smoke.runs[0]
TITLE = "PyTorch on GPU 0"


def course() -> Course:
    return Course(plan(FACTS, SmokeOptions(tests=("matmul", "mnist", "transfer", "stress"))), now=100.0)


def reported(one: Course, *events: Any, now: float = 101.0) -> Course:
    for event in events:
        run = event.run if isinstance(event, SmokeResult | SmokeEnded) else None
        one.take(event, entry(FACTS, run) if run else None, now)
    return one


def stage(name: str, variant: str = "", job: int = 1) -> SmokeStage:
    return SmokeStage(f"PyTorch on GPU {job - 1}", name, variant, job, 2)


def test_the_bar_goes_over_the_tests_of_all_jobs() -> None:
    one = course()
    assert (one.done, one.total, one.share) == (0, 8, 0.0)
    reported(one, stage("import"), stage("start"), stage("matmul", "fp32"), stage("matmul", "bf16"))
    assert (one.title, one.stage, one.place, one.done) == (TITLE, "matmul bf16", "job 1 of 2", 0)
    reported(one, stage("transfer"), SmokeProgress(TITLE, 0.5))
    assert (one.done, one.share) == (2, 2.5 / 8)
    reported(one, SmokeEnded(TITLE, RUN), stage("import", job=2))
    assert (one.done, one.stage, one.place, one.share) == (4, "importing", "job 2 of 2", 0.5)


def test_a_second_worker_does_not_set_the_bar_back() -> None:
    one = reported(course(), stage("stress"), stage("import"), stage("start"))
    assert one.done == 3


def test_the_end_of_the_last_job_is_the_end_of_the_bar() -> None:
    one = reported(course(), SmokeEnded(TITLE, RUN), stage("done", job=2))
    assert one.share == 1.0
    reported(one, SmokeEnded("PyTorch on GPU 1", FACTS.smoke.runs[1]))
    assert (one.share, one.place) == (1.0, "job 2 of 2")


def test_results_of_a_job_take_the_place_of_those_before_it_had_ended() -> None:
    one = reported(course(), SmokeResult(TITLE, RUN.tests[0], RUN), SmokeResult(TITLE, RUN.tests[1], RUN))
    assert len(one.entries) == 1
    reported(one, SmokeEnded(TITLE, RUN), SmokeResult("PyTorch on GPU 1", RUN.tests[0], FACTS.smoke.runs[1]))
    assert [entry.device for entry in one.entries] == ["GPU 0", "GPU 1"]
    assert not one.stopped


def test_the_stage_has_its_own_seconds() -> None:
    one = reported(course(), stage("mnist"), now=107.0)
    assert one.seconds(110.0) == (3.0, 10.0)
    reported(one, stage("mnist"), now=109.0)
    assert one.seconds(110.0) == (3.0, 10.0)
    one.end(112.0)
    assert one.seconds(500.0) == (5.0, 12.0)


def test_before_the_first_job_it_looks_for_the_digits() -> None:
    assert reported(course(), StepStarted("digits", "the digits")).stage == "looking for the digits"


def test_minutes_and_seconds() -> None:
    assert [clock(seconds) for seconds in (0, 7.9, 61, 3600)] == ["0:00", "0:07", "1:01", "60:00"]
