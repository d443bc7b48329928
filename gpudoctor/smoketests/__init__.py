"""The smoke tests: which are run, on what, and what came of them."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from threading import Event

    from gpudoctor.facts import Facts
    from gpudoctor.machine import Machine
    from gpudoctor.parallel import StepEnded, StepStarted
    from gpudoctor.smoketests.digits import Digits
    from gpudoctor.smoketests.events import SmokeEvent
    from gpudoctor.smoketests.options import SmokeOptions

# Reading MNIST's 47 MB takes a fifth of a second; a home on a dead network mount never responds.
DIGITS_SECONDS = 10.0


def quick_suite() -> "SmokeOptions":
    """What runs where nobody says more than that smoke tests shall."""
    from gpudoctor.smoketests.options import SmokeOptions

    return SmokeOptions()


def measure(
    machine: "Machine", facts: "Facts", choice: "SmokeOptions", worker: str | None = None, halted: "Event | None" = None
) -> "Generator[StepStarted | StepEnded | SmokeEvent, None, Facts]":
    """Run the chosen tests; the generator's value is the facts with what was measured.

    A framework that did not even start is asked what it misses, if nobody did before: that is where its cause lies.

    Args:
        machine: where they run.
        facts: what was found out about it before.
        choice: what the user chose.
        worker: the script; tests give one that is ill.
        halted: ends the run when somebody sets it; what was measured is kept.

    Raises:
        ChoiceError: a chosen test, backend or device is not there, or the digits that were named cannot be used.
    """
    from gpudoctor.facts import Smoke
    from gpudoctor.smoketests.job import WORKER
    from gpudoctor.smoketests.plan import no_gpu_for, plan
    from gpudoctor.smoketests.run import run

    jobs = plan(facts, choice)
    if no_gpu_for(facts, choice):
        return msgspec.structs.replace(facts, smoke=Smoke(instead=True))
    digits = yield from _digits(machine, choice)
    found = yield from run(machine, facts, jobs, digits, worker or WORKER, halted)
    found = msgspec.structs.replace(found, price=choice.price)
    return _explained(machine, msgspec.structs.replace(facts, smoke=found, seconds=facts.seconds + found.seconds))


def _digits(machine: "Machine", choice: "SmokeOptions") -> "Generator[StepStarted | StepEnded, None, Digits]":
    """The digits of the training step, read under a deadline."""
    from gpudoctor.parallel import ParallelStep, run_steps
    from gpudoctor.smoketests.digits import VARIABLE, Digits, DigitsError, digits

    def look() -> Digits | DigitsError:
        try:
            return digits(machine, choice.mnist)
        except DigitsError as error:
            return error

    found = (yield from run_steps([ParallelStep("digits", "the digits", look)], DIGITS_SECONDS))["digits"]
    if isinstance(found, Digits):
        return found
    if isinstance(found, DigitsError):
        raise found
    path = choice.mnist or machine.env.get(VARIABLE) or "The file of digits"
    raise DigitsError(f"{path} could not be read in {DIGITS_SECONDS:.0f} seconds, or not at all.")


def _explained(machine: "Machine", facts: "Facts") -> "Facts":
    """The facts with each Python's frameworks imported in which one did not start, where that was not done yet."""
    from gpudoctor.probes import frameworks
    from gpudoctor.targets import has_nvidia

    ill = {run.python for run in facts.smoke.runs if not run.tests and run.outcome not in ("done", "stopped")}
    pythons = tuple(
        msgspec.structs.replace(p, frameworks=frameworks.probe(machine, p, live=True, gpu=has_nvidia(facts)))
        if p.path in ill and any(f.live is None for f in p.frameworks)
        else p
        for p in facts.pythons
    )
    return msgspec.structs.replace(facts, pythons=pythons)
