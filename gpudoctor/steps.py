"""Runs the steps of an examination side by side, and tells of each when it begins and ends."""

import time
from collections.abc import Callable, Generator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeVar

import msgspec

from gpudoctor.maybe import Unknown

P = TypeVar("P", bound=msgspec.Struct)


class Step(NamedTuple):
    """One step: its key, its name for people, and what it does."""

    key: str
    label: str
    function: Callable[[], Any]


class StepStarted(msgspec.Struct, frozen=True):
    """A step begins."""

    key: str
    label: str


class StepEnded(msgspec.Struct, frozen=True):
    """A step has ended; `error` is set where the probe itself failed, which is a fault of ours."""

    key: str
    label: str
    seconds: float
    error: str | None = None


def run_steps(steps: Sequence[Step]) -> Generator[StepStarted | StepEnded, None, dict[str, Any]]:
    """Run steps in threads; the generator's value is what each returned, None where it failed.

    Threads are enough: a step waits for files and children. Each child has its own deadline, so no step
    waits for ever.
    """
    results: dict[str, Any] = {}
    if len(steps) == 1:  # a thread would only cost
        yield StepStarted(steps[0].key, steps[0].label)
        yield _run(steps[0], results)
        return results
    ended: SimpleQueue[StepEnded] = SimpleQueue()
    for step in steps:
        yield StepStarted(step.key, step.label)
        Thread(target=lambda s=step: ended.put(_run(s, results)), daemon=True).start()
    for _ in steps:
        yield ended.get()
    return results


def _run(step: Step, results: dict[str, Any]) -> StepEnded:
    begun, error = time.monotonic(), None
    results[step.key] = None
    try:
        results[step.key] = step.function()
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    return StepEnded(step.key, step.label, round(time.monotonic() - begun, 4), error)


def unanswered(part: type[P], why: str) -> P:
    """A part of the facts in which everything that can be unknown is, with the reason."""
    fields = msgspec.structs.fields(part)
    return part(**{f.name: Unknown(why) for f in fields if isinstance(f.default, Unknown)})
