"""Runs one job: a worker under a deadline for each stage, and a second one for what the first took with it."""

from __future__ import annotations

import json
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from threading import Event

import msgspec

from gpudoctor import workers
from gpudoctor.child import ChildResult
from gpudoctor.facts import SmokeRun, SmokeTest
from gpudoctor.machine import Machine
from gpudoctor.parsers.crash_output import tail
from gpudoctor.probes.python.interpreter import child_environment
from gpudoctor.probes.temp_home import spare_home
from gpudoctor.smoketests.digits import Digits
from gpudoctor.smoketests.plan import SmokeJob
from gpudoctor.smoketests.suite import STAGES, deadline
from gpudoctor.smoketests.worker_exit import Death, death, killed_for_memory
from gpudoctor.smoketests.worker_output import WorkerOutput

WORKER = workers.script("smoke", "worker.py")
# Between asking a worker to stop and killing it: pieces of work last a twentieth of a second.
GRACE = 2.0
SETTLE = 10.0  # seconds for a context that is opened and closed
# A worker whose GPU's context died, or that died itself, takes the tests behind with it: they get a new one, once.
ATTEMPTS = 2
TAIL = 30  # lines of stderr that are kept
SETTINGS = {
    "PYTHONFAULTHANDLER": "1",  # a segmentation fault says on stderr where it happened
    # Neither framework may take the whole memory of a GPU on which others work.
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
Tell = Callable[[str, WorkerOutput], object]


class StageDeadlines:
    """How long a worker may be silent: each stage has its deadline, and each line starts it again."""

    def __init__(self, reported: WorkerOutput, stress: float, tell: Tell, halted: Event) -> None:
        self._told, self._stress, self._tell, self._halted = reported, stress, tell, halted
        self._heard = time.monotonic()

    def line(self, line: str) -> None:
        """Take note of a line."""
        what = self._told.line(line)
        if what:
            self._heard = time.monotonic()
            self._tell(what, self._told)

    @property
    def halted(self) -> bool:
        """Whether somebody ended the run."""
        return self._halted.is_set()

    def late(self) -> bool:
        """Whether it has been silent for too long, or nobody waits for it any more."""
        return self.halted or time.monotonic() - self._heard > deadline(self._told.stage, self._stress)


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A job's facts, when it took the device, and from when to when each of its tests ran and was timed."""

    run: SmokeRun
    started: float | None
    windows: tuple[tuple[tuple[float, float], tuple[tuple[float, float], ...]], ...]


def run_job(
    machine: Machine, job: SmokeJob, digits: Digits, tell: Tell, worker: str = WORKER, halted: Event | None = None
) -> Ran:
    """Run a job to its end, and keep what was measured before a hang or a crash.

    Args:
        machine: where it runs.
        job: what to run.
        digits: what the training step sees.
        tell: hears of each stage, result and progress.
        worker: the script; tests give one that is unhealthy.
        halted: ends the job when somebody sets it.
    """
    reported, left, halted = WorkerOutput(), job.tests, halted or Event()
    for _ in range(ATTEMPTS):
        pace = StageDeadlines(reported, job.seconds, tell, halted)
        ended, end = _attempt(machine, job, left, digits, reported, pace, worker)
        if end is None:
            return _ran(job, reported, ended, end, ())
        _under(reported, left, end)
        _settle(machine, job, ended, worker)
        reached = {test.name for test in reported.tests}
        left = tuple(name for name in left if name not in reached)
        if not left or not reached or end.outcome == "stopped" or ended.abandoned:
            break
    return _ran(job, reported, ended, end, left)


def _settle(machine: Machine, job: SmokeJob, ended: ChildResult, worker: str) -> None:
    """Open and close a context after a worker was killed on an NVIDIA GPU.

    A Blackwell GPU goes on to report full load for days when a process dies under a kernel, until the next context
    ends in order (https://github.com/Datura-ai/lium-io/pull/1140).
    """
    if job.target.kind != "cuda" or ended.signal is None or ended.abandoned or machine.over:
        return
    task = json.dumps({"backend": "driver", "tests": [], "kind": "cuda", "device": job.target.device}).encode()
    machine.run([sys.executable, worker], SETTLE, _environment(machine, job), stdin=task, patient=True)


def _attempt(
    machine: Machine,
    job: SmokeJob,
    tests: Sequence[str],
    digits: Digits,
    reported: WorkerOutput,
    pace: StageDeadlines,
    worker: str,
) -> tuple[ChildResult, Death | None]:
    """One worker; how it ended, and its death where it did not end well."""
    reported.stage, reported.variant = "start", ""
    for name in ("outcome", "message", "error"):
        reported.facts.pop(name, None)
    before = killed_for_memory(machine)
    longest = sum(STAGES.values()) + sum(8 * deadline(name, job.seconds) for name in tests)  # a stage a data type
    with spare_home(_environment(machine, job)) as env:
        ended = machine.run(
            [job.python or sys.executable, worker],
            longest,
            env,
            pace.line,
            json.dumps(_task(job, tests, digits)).encode(),
            patient=True,
            late=pace.late,
            grace=GRACE,
        )
    if reported.stage == "done" and reported.facts.get("outcome") == "done":  # however long its process took to leave
        return ended, None
    end = death(ended, reported.place, before, killed_for_memory(machine), pace.halted, machine.over)
    if end is None and reported.facts.get("outcome") == "failed" and reported.facts.get("error") == "device-error":
        # The worker told the test's failure itself; what is left needs a process with a context that lives.
        return ended, Death("failed", "The GPU's context died.", "device-error")
    return ended, end


def _environment(machine: Machine, job: SmokeJob) -> dict[str, str]:
    env = child_environment(machine) | SETTINGS
    if job.target.uuid:
        env["CUDA_VISIBLE_DEVICES"] = job.target.uuid
    return env


def _task(job: SmokeJob, tests: Sequence[str], digits: Digits) -> dict[str, object]:
    target = job.target
    return {
        "backend": job.backend,
        "tests": list(tests),
        "dtypes": list(job.dtypes),
        "kind": target.kind,
        "device": target.device,
        "devices": target.count,
        "numbers": target.numbers,
        "address": target.address,
        "seconds": job.seconds,
        "digits": {"images": b64encode(digits.images).decode(), "labels": b64encode(digits.labels).decode()},
    }


def _under(reported: WorkerOutput, tests: Sequence[str], end: Death) -> None:
    """Give its result to the test under which a worker ended.

    A worker that stops when it is asked to has told the result itself, but knows not why it was asked: where it was
    late, that is a hang like another. One that was in no test (it was ending, or began) leaves none.
    """
    last = reported.tests[-1] if reported.tests else None
    if end.outcome in ("hung", "stopped") and last and last.outcome == "stopped":
        reported.tests[-1] = msgspec.structs.replace(last, outcome=end.outcome, message=end.message)
    elif reported.stage in tests:
        test = SmokeTest(
            name=reported.stage, variant=reported.variant, outcome=end.outcome, message=end.message, error=end.error
        )
        reported.tests.append(test)
        reported.windows.append((_since(reported), ()))


def _since(reported: WorkerOutput) -> tuple[float, float]:
    now = time.monotonic()
    return (reported.began if reported.began is not None else now, now)


def so_far(job: SmokeJob, reported: WorkerOutput, **more: object) -> Ran:
    """What a job has measured.

    Args:
        job: which.
        reported: what its workers have told.
        more: further facts of the run.
    """
    target = job.target
    known: dict[str, object] = {
        "backend": job.backend,
        "kind": target.kind,
        "python": job.python or sys.executable,
        "gpu": target.gpu,
        "label": target.label,
        "mig": target.mig,
    }
    if target.name and not reported.facts.get("name"):
        known["name"] = target.name
    return Ran(run=reported.run(**known, **more), started=reported.started, windows=tuple(reported.windows))


def _ran(job: SmokeJob, reported: WorkerOutput, ended: ChildResult, end: Death | None, left: Sequence[str]) -> Ran:
    """The facts; what is left was not reached."""
    rest = tuple(SmokeTest(name=name, message=end.message if end else "") for name in left)
    died = {"outcome": end.outcome, "message": end.message, "error": end.error} if end is not None else {}
    ran = so_far(job, reported, stderr=tail(ended.err, TAIL), **died)
    run = msgspec.structs.replace(ran.run, tests=(*ran.run.tests, *rest))
    return msgspec.structs.replace(ran, run=run)
