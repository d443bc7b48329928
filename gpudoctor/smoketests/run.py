"""Runs the jobs of a plan one after the other, and tells of each step as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple

import msgspec

from gpudoctor.facts import Facts, Smoke, SmokeRun, SmokeTest
from gpudoctor.machine import Machine
from gpudoctor.smoketests.digits import Digits
from gpudoctor.smoketests.events import SmokeEnded, SmokeEvent, SmokeProgress, SmokeResult, SmokeStage
from gpudoctor.smoketests.job import WORKER, Ran, Tell, run_job, so_far
from gpudoctor.smoketests.plan import SmokeJob
from gpudoctor.smoketests.watch import Watch
from gpudoctor.smoketests.worker_exit import NOT_BEGUN, STOPPED
from gpudoctor.smoketests.worker_output import WorkerOutput


def run(
    machine: Machine,
    facts: Facts,
    jobs: tuple[SmokeJob, ...],
    digits: Digits,
    worker: str = WORKER,
    halted: Event | None = None,
) -> Generator[SmokeEvent, None, Smoke]:
    """Run the jobs; the generator's value is what was measured. Who ends one job has ended the run.

    Args:
        machine: where they run.
        facts: what was found out about it before.
        jobs: as `gpudoctor.smoketests.plan.plan` gives them.
        digits: what the training step sees.
        worker: the script; tests give one that is unhealthy.
        halted: ends the run when somebody sets it.
    """
    begun, runs, halted = time.monotonic(), [], halted or Event()
    with Watch(machine, facts) as watch:
        watch.ready()
        for number, job in enumerate(jobs):
            if halted.is_set():
                runs.append(_left(job, machine.over))
                continue
            work = partial(run_job, machine, job, digits, worker=worker, halted=halted)
            ran = yield from _one(watch, job, work, (number + 1, len(jobs)))
            runs.append(ran)
            if ran.outcome == "stopped":
                halted.set()
            yield SmokeEnded(job.title, ran)
    return Smoke(seconds=round(time.monotonic() - begun, 3), digits=digits.source, runs=tuple(runs))


class _Measured(NamedTuple):
    """A test has ended: the job so far."""

    ran: Ran


def _one(
    watch: Watch, job: SmokeJob, work: Callable[[Tell], Ran], place: tuple[int, int]
) -> Generator[SmokeEvent, None, SmokeRun]:
    """One job in a thread, so that its steps can be told while it runs."""
    events: SimpleQueue[SmokeStage | SmokeProgress | _Measured | Ran] = SimpleQueue()

    def tell(what: str, reported: WorkerOutput) -> None:
        if what == "stage":
            events.put(SmokeStage(job.title, reported.stage, reported.variant, *place))
        elif what == "progress":
            events.put(SmokeProgress(job.title, reported.done))
        else:
            events.put(_Measured(so_far(job, reported)))

    def conduct() -> None:
        try:
            events.put(work(tell))
        except Exception as error:  # a fault of ours must not take with it what the other jobs measured
            events.put(_broken(job, error))

    Thread(target=conduct, daemon=True).start()
    while not isinstance(event := events.get(), Ran):
        if isinstance(event, _Measured):
            run = _watched(watch, job, event.ran)
            yield SmokeResult(job.title, run.tests[-1], run)
        else:
            yield event
    return _watched(watch, job, event)


def _left(job: SmokeJob, over: bool) -> SmokeRun:
    """A job that was not begun, because the run was ended, or its time was over."""
    message = NOT_BEGUN if over else STOPPED
    tests = tuple(SmokeTest(name=name, message=message) for name in job.tests)
    return msgspec.structs.replace(so_far(job, WorkerOutput(), outcome="stopped", message=message).run, tests=tests)


def _broken(job: SmokeJob, error: Exception) -> Ran:
    message = f"gpudoctor itself failed: {type(error).__name__}: {error}"
    target = job.target
    run = SmokeRun(
        backend=job.backend, kind=target.kind, gpu=target.gpu, label=target.label, outcome="failed", message=message
    )
    return Ran(run=run, started=None, windows=())


def _watched(watch: Watch, job: SmokeJob, ran: Ran) -> SmokeRun:
    """The run with what the driver said of the GPU meanwhile."""
    gpu = job.target.gpu
    if gpu is None:
        return ran.run
    tests: list[Any] = [
        msgspec.structs.replace(test, during=watch.during(gpu, *window))
        for test, window in zip(ran.run.tests, ran.windows, strict=False)
    ]
    rest = ran.run.tests[len(tests) :]
    if ran.started is None:
        return msgspec.structs.replace(ran.run, tests=(*tests, *rest))
    others, utilization = watch.busy(gpu, ran.started)
    return msgspec.structs.replace(ran.run, tests=(*tests, *rest), others=others, utilization=utilization)
