"""A run of smoke tests from the choice to the report: what the screen's worker runs, in a thread, without a widget."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from threading import Event

import msgspec

from gpudoctor.facts import Facts, Smoke, SmokeRun
from gpudoctor.machine import Machine
from gpudoctor.parallel import StepEnded, StepStarted
from gpudoctor.pipeline import CheckOptions, Done, Gathered, Glimpsed, Judged, examine
from gpudoctor.report.model import SmokeEntry
from gpudoctor.report.smoke import smoke_entries
from gpudoctor.smoketests import measure
from gpudoctor.smoketests.events import SmokeEnded, SmokeEvent, SmokeResult
from gpudoctor.smoketests.options import SmokeOptions

LONGEST = 6 * 3600.0  # seconds: each stage has its own deadline, and all tests on eight GPUs take a while

SmokeUpdate = StepStarted | StepEnded | SmokeEvent | Glimpsed | Gathered | Judged | Done


def conduct(
    machine: Machine,
    facts: Facts,
    choice: SmokeOptions,
    options: CheckOptions,
    halted: Event,
    worker: str | None = None,
) -> Iterator[tuple[SmokeUpdate, SmokeEntry | None]]:
    """Run the tests and judge; gives each event, with the entry of the report for what was measured so far.

    Args:
        machine: where they run; they take their own time.
        facts: what was found out about it before.
        choice: what the user chose.
        options: how the machine was checked, so that the same checks are asked again.
        halted: ends the run when somebody sets it; what was measured is judged.
        worker: the script; tests give one that is unhealthy.

    Raises:
        ChoiceError: what was chosen cannot be run.
    """
    patient = Machine(machine.root, machine.env, LONGEST)
    facts = yield from _measured(patient, facts, choice, halted, worker)
    for event in examine(None, options, facts):
        yield event, None


def _measured(
    machine: Machine, facts: Facts, choice: SmokeOptions, halted: Event, worker: str | None
) -> Generator[tuple[SmokeUpdate, SmokeEntry | None], None, Facts]:
    events = measure(machine, facts, choice, worker, halted)
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            found: Facts = end.value
            return found
        yield event, entry(facts, event.run) if isinstance(event, SmokeResult | SmokeEnded) else None


def entry(facts: Facts, run: SmokeRun) -> SmokeEntry:
    """What the report will say of a run, which may not have ended."""
    return smoke_entries(msgspec.structs.replace(facts, smoke=Smoke(runs=(run,))))[0]
