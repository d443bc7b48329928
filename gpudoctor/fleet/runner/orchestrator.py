"""Conducts a run: an engine asks the nodes, reports land, and the ledger accounts for every node."""

import time
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import NamedTuple

from gpudoctor.fleet.runner.engine import Engine, EngineError, FleetTarget, NodeJob
from gpudoctor.fleet.runner.report_store import too_long
from gpudoctor.fleet.runner.run_directory import RunDirectory
from gpudoctor.fleet.runner.tracker import Register, RunProgress

# Seconds.
LOOK = 0.2  # between two looks at how the run stands
LINGER = 15.0  # that an engine may take to end when every node is accounted for
PATIENCE = 30.0  # that it may take when it was asked to stop: Kubernetes needs most of it to delete its jobs
SLACK = 120.0  # past a node's limit, for an engine to say so itself


class RunOutcome(NamedTuple):
    """How a run ended.

    Attributes:
        standing: at its end.
        error: why it could not go on, a sentence; empty: it could.
        full: what could not go on is our own writing, as on a full disk.
        stopped: somebody ended it.
    """

    standing: RunProgress
    error: str = ""
    full: bool = False
    stopped: bool = False


def conduct(
    engine: Engine,
    targets: Sequence[FleetTarget],
    job: NodeJob,
    folder: RunDirectory,
    stop: Event | None = None,
    watch: Callable[[RunProgress], None] | None = None,
    hurry: Event | None = None,
) -> RunOutcome:
    """Ask these nodes, until each is accounted for in the directory's ledger.

    The engine works in a thread of its own, so that a signal is answered at once; an engine that does not end when it
    is asked to is left behind. What ends this (KeyboardInterrupt) finds the ledger complete.

    Args:
        engine: that asks.
        targets: nodes without a report; each stands here once.
        job: what runs on each.
        folder: of the run.
        stop: set by the caller that wants the run to end early.
        watch: told some times a second how the run stands.
        hurry: set by the caller that does not want to wait for the engine's end either.

    Raises:
        Exception: a fault of the engine's, when the ledger is complete.
    """
    stop = stop or Event()
    asked = [one for one in targets if not _why_not(one)]
    # Where no GPUs are requested, a node need not be given those that it has: nobody can tell then whether one is gone.
    register = Register(folder, targets, stop, gpus=job.gpus)
    for target in targets:
        if why := _why_not(target):
            register.not_asked(target.node, why)
    work = _Work(engine, asked, job, register, stop)
    ended_early = False
    try:
        if asked and not stop.is_set():
            work.start()
            ended_early = _until_over(work, register, job, stop, watch)
        else:
            ended_early = stop.is_set()
    except BaseException:
        ended_early = True
        raise
    finally:
        stop.set()
        try:
            work.wait(hurry)
        finally:
            register.close(ended_early, work.error)
    if work.fault is not None:
        raise work.fault
    return RunOutcome(register.standing(), register.error or work.error, bool(register.error), ended_early)


def _why_not(target: FleetTarget) -> str:
    return target.why_not or ("The node name is too long for a file name." if too_long(target.node) else "")


class _Work:
    """The engine's run in a thread of its own."""

    def __init__(
        self, engine: Engine, targets: Sequence[FleetTarget], job: NodeJob, register: Register, stop: Event
    ) -> None:
        self.error = ""
        self.fault: Exception | None = None
        self.over = Event()
        self._what = engine, targets, job, register, stop
        self._thread = Thread(target=self._run, daemon=True, name=f"fleet {engine.name}")
        self._started = False

    def start(self) -> None:
        self._started = True
        self._thread.start()

    def wait(self, hurry: Event | None) -> None:
        """Give the engine the time to end what it started."""
        if self._started:
            patiently(self.over.wait, hurry)

    def _run(self) -> None:
        engine, targets, job, register, stop = self._what
        try:
            engine.run(targets, job, register.tell, stop)
        except EngineError as error:
            self.error = str(error)
        except Exception as error:
            self.fault = error
            self.error = "Its engine failed because of a bug in gpudoctor."
        finally:
            self.over.set()


def patiently(wait: Callable[[float], object], hurry: Event | None) -> None:
    """Wait for the end of an engine that was asked to stop, for PATIENCE at most, and until somebody is in a hurry.

    Args:
        wait: for so many seconds; true when it has ended.
        hurry: set by the caller that is.
    """
    end = time.monotonic() + PATIENCE
    while not wait(LOOK) and time.monotonic() < end and not (hurry and hurry.is_set()):
        pass


def _until_over(
    work: _Work, register: Register, job: NodeJob, stop: Event, watch: Callable[[RunProgress], None] | None
) -> bool:
    """Wait for the engine's end; whether it was ended early."""
    done_at: float | None = None
    while not work.over.wait(LOOK):
        if stop.is_set():
            return True
        register.give_up(job.seconds + SLACK)
        now = register.standing()
        if watch is not None:
            watch(now)
        if now.reported + now.over < now.total:
            done_at = None
        elif done_at is None:
            done_at = time.monotonic()
        elif time.monotonic() - done_at > LINGER:  # nothing more can come
            return False
    return stop.is_set()
