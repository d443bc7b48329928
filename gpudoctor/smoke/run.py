"""Runs the jobs of a plan one after the other, and tells of each step as it happens."""

from __future__ import annotations

import time
from collections.abc import Generator
from queue import SimpleQueue
from threading import Thread
from typing import Any

import msgspec

from gpudoctor.facts import Facts, Smoke, SmokeRun
from gpudoctor.machine import Machine
from gpudoctor.smoke.digits import Digits
from gpudoctor.smoke.events import SmokeEnded, SmokeEvent, SmokeResult, SmokeStage
from gpudoctor.smoke.job import WORKER, Ran, run_job
from gpudoctor.smoke.plan import Job
from gpudoctor.smoke.read import Told
from gpudoctor.smoke.watch import Watch


def run(
    machine: Machine, facts: Facts, jobs: tuple[Job, ...], digits: Digits, worker: str = WORKER
) -> Generator[SmokeEvent, None, Smoke]:
    """Run the jobs; the generator's value is what was measured.

    Args:
        machine: where they run.
        facts: what was found out about it before.
        jobs: as `gpudoctor.smoke.plan.plan` gives them.
        digits: what the training step sees.
        worker: the script; tests give one that is ill.
    """
    begun, runs = time.monotonic(), []
    with Watch(machine, facts) as watch:
        watch.ready()
        for number, job in enumerate(jobs):
            ran = yield from _one(machine, job, digits, (number, len(jobs)), worker)
            runs.append(_watched(watch, job, ran))
            yield SmokeEnded(job.title, runs[-1])
    return Smoke(seconds=round(time.monotonic() - begun, 3), digits=digits.source, runs=tuple(runs))


def _one(
    machine: Machine, job: Job, digits: Digits, place: tuple[int, int], worker: str
) -> Generator[SmokeEvent, None, Ran]:
    """One job in a thread, so that its steps can be told while it runs."""
    events: SimpleQueue[SmokeEvent | Ran] = SimpleQueue()

    def tell(what: str, told: Told) -> None:
        if what == "stage":
            events.put(SmokeStage(job.title, told.stage, told.variant, place[0] + 1, place[1]))
        elif what == "result":
            events.put(SmokeResult(job.title, told.tests[-1]))

    def work() -> None:
        try:
            events.put(run_job(machine, job, digits, tell, worker))
        except Exception as error:  # a fault of ours must not take with it what the other jobs measured
            events.put(_broken(job, error))

    Thread(target=work, daemon=True).start()
    while not isinstance(event := events.get(), Ran):
        yield event
    return event


def _broken(job: Job, error: Exception) -> Ran:
    says = f"gpudoctor itself failed: {type(error).__name__}: {error}"
    target = job.target
    run = SmokeRun(
        backend=job.backend, kind=target.kind, gpu=target.gpu, label=target.label, outcome="failed", says=says
    )
    return Ran(run=run, started=None, windows=())


def _watched(watch: Watch, job: Job, ran: Ran) -> SmokeRun:
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
    others, utilisation = watch.busy(gpu, ran.started)
    return msgspec.structs.replace(ran.run, tests=(*tests, *rest), others=others, utilisation=utilisation)
