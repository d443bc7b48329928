"""The smoke tests: which are run, on what, and what came of them."""

from collections.abc import Generator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from gpudoctor.facts import Facts
    from gpudoctor.machine import Machine
    from gpudoctor.smoke.events import SmokeEvent
    from gpudoctor.smoke.wishes import Choice


def measure(machine: "Machine", facts: "Facts", choice: "Choice") -> "Generator[SmokeEvent, None, Facts]":
    """Run the chosen tests; the generator's value is the facts with what was measured.

    A framework that did not even start is asked what it misses, if nobody did before: that is where its cause lies.

    Args:
        machine: where they run.
        facts: what was found out about it before.
        choice: what the user wishes.

    Raises:
        ChoiceError: a chosen test, backend or device is not there.
        DigitsError: the digits that were named cannot be used.
    """
    from gpudoctor.smoke.digits import digits
    from gpudoctor.smoke.plan import plan
    from gpudoctor.smoke.run import run

    jobs = plan(facts, choice)
    python = next((job.python for job in jobs if job.python), None)
    found = yield from run(machine, facts, jobs, digits(machine, choice.mnist, python))
    instead = not (choice.devices or choice.backends) and all(job.target.kind == "cpu" for job in jobs)
    found = msgspec.structs.replace(found, instead=instead)
    return _explained(machine, msgspec.structs.replace(facts, smoke=found, seconds=facts.seconds + found.seconds))


def _explained(machine: "Machine", facts: "Facts") -> "Facts":
    """The facts with each Python's frameworks imported in which one did not start, where that was not done yet."""
    from gpudoctor.probes import frameworks
    from gpudoctor.subjects import has_nvidia

    ill = {run.python for run in facts.smoke.runs if not run.tests and run.outcome != "done"}
    pythons = tuple(
        msgspec.structs.replace(p, frameworks=frameworks.probe(machine, p, live=True, gpu=has_nvidia(facts)))
        if p.path in ill and any(f.live is None for f in p.frameworks)
        else p
        for p in facts.pythons
    )
    return msgspec.structs.replace(facts, pythons=pythons)
