"""Workers that hang, crash or err, as real processes: what was measured is kept, and the rest is run anew."""

import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import SmokeRun
from gpudoctor.machine import Machine
from gpudoctor.smoketests import job as job_module
from gpudoctor.smoketests.devices import SmokeDevice, cpu
from gpudoctor.smoketests.digits import digits
from gpudoctor.smoketests.job import run_job
from gpudoctor.smoketests.plan import SmokeJob

ILL = str(Path(__file__).parent / "faulty_worker.py")
TESTS = ("transfer", "mnist", "bandwidth")


def ran(fault: str, tests: tuple[str, ...] = TESTS, **more: Any) -> SmokeRun:
    """The run of a worker with one fault."""
    machine = Machine(env={**os.environ, "FAULT": fault}, seconds=200)
    job = SmokeJob(backend="cpu", python="", target=cpu(), tests=tests, **more)
    return run_job(machine, job, digits(machine), lambda *_: None, ILL).run


def outcomes(run: SmokeRun) -> dict[str, str]:
    return {test.name: test.outcome for test in run.tests}


@pytest.fixture
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage that will hang may be silent for a second."""
    monkeypatch.setattr(job_module, "deadline", lambda stage, *_: 1.0 if stage == "mnist" else 60.0)
    monkeypatch.setattr(job_module, "GRACE", 0.5)


def test_a_healthy_worker_ends_in_order() -> None:
    run = ran("nothing")
    assert (run.outcome, run.stage) == ("done", "done")
    assert outcomes(run) == dict.fromkeys(TESTS, "done")
    assert run.version
    assert run.threads


@pytest.mark.parametrize(
    ("fault", "outcome", "message"),
    [
        ("segfault", "died", "It was killed by SIGSEGV in stage mnist: it accessed invalid memory."),
        ("killed", "died", "It was killed by SIGKILL in stage mnist, sent from outside."),
        ("exits", "failed", "It ended in stage mnist with exit code 7: something went wrong inside"),
    ],
)
def test_what_a_death_takes_with_it_is_run_anew(fault: str, outcome: str, message: str) -> None:
    run = ran(fault)
    assert [(t.outcome, t.message) for t in run.tests if t.name == "mnist"] == [(outcome, message)]
    assert outcomes(run) == {"transfer": "done", "mnist": outcome, "bandwidth": "done"}
    assert run.outcome == "done"


@pytest.mark.parametrize("fault", ["sleeps", "deaf", "stopped", "spins"])
@pytest.mark.usefixtures("_hurried")
def test_a_hang_ends_at_its_deadline_and_leaves_no_process(fault: str) -> None:
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    run = ran(fault)
    assert outcomes(run) == {"transfer": "done", "mnist": "hung", "bandwidth": "done"}
    assert [t.message for t in run.tests if t.name == "mnist"] == ["It stopped responding in stage mnist."]
    assert {p.pid for p in psutil.Process().children(recursive=True)} <= before


@pytest.mark.parametrize("fault", ["sleeps", "deaf"])
@pytest.mark.usefixtures("_hurried")
def test_the_end_of_the_time_for_the_whole_run_is_no_hang(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "deadline", lambda *_: 60.0)
    machine = Machine(env={**os.environ, "FAULT": fault}, seconds=4)
    job = SmokeJob(backend="cpu", python="", target=cpu(), tests=TESTS)
    first, second = (run_job(machine, job, digits(machine), lambda *_: None, ILL).run for _ in range(2))
    assert (first.outcome, first.error) == (second.outcome, second.error) == ("stopped", None)
    assert first.message.startswith("The time for the whole run (--timeout) was over in stage ")
    assert second.message == "The time for the whole run (--timeout) was over before it started."
    assert set(outcomes(first).values()) <= {"done", "stopped", "not reached"}
    assert {test.message for test in first.tests if test.outcome != "done"} == {first.message}
    assert outcomes(second) == dict.fromkeys(TESTS, "not reached")


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("full", "out-of-memory", "MemoryError: CUDA out of memory. Tried to allocate 20.00 GiB"),
        ("assert", "device-error", "RuntimeError: CUDA error: device-side assert triggered"),
        ("other", "other", "ValueError: a fault of another kind"),
    ],
)
def test_an_error_is_told_in_the_frameworks_own_words(fault: str, error: str, message: str) -> None:
    run = ran(fault)
    assert [(t.outcome, t.error, t.message) for t in run.tests if t.name == "mnist"] == [("failed", error, message)]
    assert outcomes(run) == {"transfer": "done", "mnist": "failed", "bandwidth": "done"}


@pytest.mark.usefixtures("_hurried")
def test_a_second_death_ends_the_run() -> None:
    run = ran("deaf", ("mnist", "transfer", "inference", "bandwidth"))
    assert outcomes(run)["mnist"] == "hung"
    assert outcomes(run)["bandwidth"] == "done"
    run = ran("deaf", ("mnist", "mixed-precision", "bandwidth"))
    assert outcomes(run)["mnist"] == "hung"


def test_an_import_that_fails_is_told() -> None:
    run = ran("import")
    assert (run.outcome, run.stage) == ("failed", "import")
    assert run.message == "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory"
    assert run.tests == ()


def test_an_interpreter_that_is_not_there_is_told() -> None:
    machine = Machine(seconds=60)
    job = SmokeJob(backend="pytorch", python="/no/such/python", target=cpu(), tests=TESTS)
    run = run_job(machine, job, digits(machine), lambda *_: None).run
    assert run.message == "/no/such/python was not started: No such file or directory"
    assert outcomes(run) == dict.fromkeys(TESTS, "not reached")


def test_a_backend_without_its_framework_says_so() -> None:
    machine = Machine(seconds=60)
    job = SmokeJob(backend="pytorch", python="", target=cpu(), tests=TESTS)
    run = run_job(machine, job, digits(machine), lambda *_: None).run
    assert (run.outcome, run.message) == ("failed", "ModuleNotFoundError: No module named 'torch'")


class Spy(Machine):
    """Notes what each worker is asked to do."""

    def __init__(self, fault: str) -> None:
        super().__init__(env={**os.environ, "FAULT": fault}, seconds=200)
        self.tasks: list[dict[str, Any]] = []

    def run(self, *arguments: Any, **more: Any) -> ChildResult:
        """Run it, and keep its task."""
        stdin = more.get("stdin") or (arguments[4] if len(arguments) > 4 else b"{}")
        self.tasks.append(json.loads(stdin))
        return super().run(*arguments, **more)


@pytest.mark.parametrize(
    ("fault", "kind", "settled"), [("segfault", "cuda", 1), ("segfault", "cpu", 0), ("", "cuda", 0)]
)
def test_a_context_is_opened_and_closed_after_a_worker_was_killed_on_a_gpu(fault: str, kind: str, settled: int) -> None:
    machine = Spy(fault)
    tests = ("mnist",) if fault else ("transfer",)
    job = SmokeJob(backend="cpu", python="", target=SmokeDevice(kind=kind, label="GPU 0"), tests=tests)
    run_job(machine, job, digits(machine), lambda *_: None, ILL)
    assert [task["tests"] for task in machine.tasks if task["backend"] == "driver"] == [[]] * settled
