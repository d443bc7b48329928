"""Runs the steps of an examination side by side, and tells of each when it begins and ends."""

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from threading import Semaphore, Thread
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from gpudoctor.children.process import WAITING
from gpudoctor.maybe import Unknown

# Seconds after which a step that reports nothing holds up no other: most end within a hundredth.
PATIENCE = 0.05

P = TypeVar("P", bound=msgspec.Struct)


class ParallelStep(msgspec.Struct, frozen=True):
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


class StepFailure(msgspec.Struct, frozen=True):
    """What a step that failed, or did not end, leaves instead of its result."""

    why: str


def run_steps(
    steps: Sequence[ParallelStep], seconds: float, results: dict[str, Any] | None = None
) -> Generator[StepStarted | StepEnded, None, dict[str, Any]]:
    """Run steps in threads; the generator's value is what each returned, a Failure where it failed.

    One thread runs one step after the other, since threads that compute only wait for each other's lock. As soon as
    a step waits for a child, or has not ended for a moment, another thread goes on with the rest. A child has its own
    deadline; a step that reads from a dead network file system has none, and is left behind.

    Args:
        steps: what to do, first what waits for children.
        seconds: after which the steps that have not ended are left behind.
        results: where the results are put, for who wants to look before the end.
    """
    results = {} if results is None else results
    results.update(dict.fromkeys((step.key for step in steps), StepFailure("the probe timed out")))
    ended, number = deque[tuple[StepEnded, Any]](), Semaphore(0)  # `queue` would take half a millisecond to import
    running, todo, begun = {step.key: step for step in steps}, deque(steps), time.monotonic()

    def work() -> None:
        WAITING.others = go_on
        with suppress(IndexError):
            while True:
                ended.append(_run(todo.popleft()))
                number.release()

    def go_on() -> None:
        if todo:
            Thread(target=work, daemon=True).start()

    go_on()
    for step in steps:
        yield StepStarted(step.key, step.label)
    while running:
        left = max(0.0, begun + seconds - time.monotonic())
        if not number.acquire(timeout=min(left, PATIENCE) if todo else left):
            if time.monotonic() - begun >= seconds:
                break
            go_on()
            continue
        event, result = ended.popleft()
        results[event.key] = result if event.error is None else StepFailure(f"the probe failed: {event.error}")
        del running[event.key]
        yield event
    for step in running.values():
        yield StepEnded(step.key, step.label, round(time.monotonic() - begun, 4), "it timed out")
    return results


def _run(step: ParallelStep) -> tuple[StepEnded, Any]:
    begun, result, error = time.monotonic(), None, None
    try:
        result = step.function()
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    return StepEnded(step.key, step.label, round(time.monotonic() - begun, 4), error), result


def found_or(result: Any, part: type[P], known: Mapping[str, Any] = MappingProxyType({})) -> P:
    """What a step found, or a part in which everything is unknown for the reason why it failed."""
    if isinstance(result, StepFailure):
        return unanswered(part, result.why, known)
    found: P = result
    return found


def unanswered(part: type[P], why: str, known: Mapping[str, Any] = MappingProxyType({})) -> P:
    """A part of the facts in which everything that can be unknown is, with the reason, except what is given."""
    # msgspec.structs.fields would look into the types, too: half a millisecond.
    defaults = dict(zip(reversed(part.__struct_fields__), reversed(part.__struct_defaults__), strict=False))
    found = {name: _unknown(default, why) for name, default in defaults.items() if name not in known}
    return part(**{name: value for name, value in found.items() if value is not None}, **known)


def _unknown(default: Any, why: str) -> Any:
    """The unknown for this reason where this is one or is made of them; None elsewhere."""
    if isinstance(default, Unknown):
        return Unknown(why)
    return unanswered(type(default), why) if isinstance(default, msgspec.Struct) else None
