"""A run tells what it does while it goes on, and ends when somebody says so."""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import psutil

from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import stop
from gpudoctor.smoketests import measure
from gpudoctor.smoketests.events import SmokeEnded, SmokeEvent, SmokeProgress, SmokeResult, SmokeStage
from gpudoctor.smoketests.options import SmokeOptions
from tests.builders import plain_host

ILL = str(Path(__file__).parent / "faulty_worker.py")
Reported = StepStarted | StepEnded | SmokeEvent


def ran(
    *tests: str,
    fault: str = "",
    backends: tuple[str, ...] = ("cpu",),
    then: Callable[[Reported, Event], object],
    seconds: float = 250,
) -> tuple[list[Reported], Facts]:
    """The events of a run and its facts; `then` hears of each event and may halt."""
    machine, halted = Machine(env={**os.environ, "FAULT": fault}, seconds=seconds), Event()
    events, reported = measure(machine, plain_host(), SmokeOptions(tests=tests, backends=backends), ILL, halted), []
    while True:
        try:
            reported.append(next(events))
        except StopIteration as end:
            return reported, end.value
        then(reported[-1], halted)


def outcomes(facts: Facts) -> list[dict[str, str]]:
    return [{test.name: test.outcome for test in run.tests} for run in facts.smoke.runs]


def halt_in_mnist(event: Reported, halted: Event) -> None:
    if isinstance(event, SmokeStage) and event.stage == "mnist":
        halted.set()


def test_each_step_is_told_with_what_was_measured_so_far() -> None:
    reported, facts = ran("transfer", "mnist", then=lambda *_: None)
    results = [event for event in reported if isinstance(event, SmokeResult)]
    assert [[test.name for test in event.run.tests] for event in results] == [["transfer"], ["transfer", "mnist"]]
    assert all(event.run.tests[-1] == event.test and event.run.label == "CPU" for event in results)
    progress = [event.done for event in reported if isinstance(event, SmokeProgress)]
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert isinstance(reported[-1], SmokeEnded)
    assert outcomes(facts) == [{"transfer": "done", "mnist": "done"}]


def test_a_run_that_is_halted_keeps_what_it_has_and_leaves_no_process() -> None:
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    _, facts = ran("transfer", "mnist", "bandwidth", fault="spins", then=halt_in_mnist)
    assert outcomes(facts) == [{"transfer": "done", "mnist": "stopped", "bandwidth": "not reached"}]
    assert [(run.outcome, run.message) for run in facts.smoke.runs] == [("stopped", "the run was stopped")]
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before


def test_a_worker_that_does_not_listen_is_killed_when_the_run_is_halted() -> None:
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    _, facts = ran("transfer", "mnist", fault="deaf", then=halt_in_mnist)
    assert outcomes(facts) == [{"transfer": "done", "mnist": "stopped"}]
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before


def test_no_job_is_begun_after_the_one_that_was_ended() -> None:
    def end(event: Reported, halted: Event) -> None:
        if isinstance(event, SmokeStage) and event.stage == "mnist":
            stop()

    reported, facts = ran("mnist", "transfer", fault="sleeps", backends=("cpu", "driver"), then=end)
    assert {event.title for event in reported if isinstance(event, SmokeStage)} == {"NumPy on CPU"}
    assert [(run.backend, run.outcome) for run in facts.smoke.runs] == [("cpu", "stopped"), ("driver", "stopped")]
    assert outcomes(facts)[1] == {"mnist": "not reached", "transfer": "not reached"}


def test_what_is_halted_before_it_begins_starts_nothing() -> None:
    reported, facts = ran("transfer", then=lambda _, halted: halted.set())
    assert not any(isinstance(event, SmokeStage | SmokeEnded) for event in reported)
    assert outcomes(facts) == [{"transfer": "not reached"}]


def test_no_job_is_begun_when_the_time_is_over() -> None:
    _, facts = ran("mnist", fault="sleeps", backends=("cpu", "driver"), then=lambda *_: None, seconds=4)
    cpu, driver = facts.smoke.runs
    assert (cpu.outcome, driver.outcome) == ("stopped", "stopped")
    assert cpu.message.startswith("The time for the whole run (--timeout) was over in stage ")
    assert (
        driver.message
        == driver.tests[0].message
        == "The time for the whole run (--timeout) was over before it started."
    )
