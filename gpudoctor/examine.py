"""Gathers, judges and reports, as a stream of events that ends in a Report: every face runs this."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import msgspec

from gpudoctor import __version__, catalogue
from gpudoctor.facts import (
    Amd,
    ContainerHost,
    Facts,
    Gpu,
    Host,
    KernelLog,
    Nvidia,
    PciDevice,
    Python,
    Toolkits,
)
from gpudoctor.judge import Verdict, judge
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.report.build import build
from gpudoctor.report.model import Report
from gpudoctor.steps import Step, StepEnded, StepStarted, run_steps, unanswered


class Gathered(msgspec.Struct, frozen=True):
    """All facts are there."""

    facts: Facts


class Judged(msgspec.Struct, frozen=True):
    """All checks were asked."""

    verdicts: tuple[Any, ...]


class Done(msgspec.Struct, frozen=True):
    """The report is ready: the last event."""

    report: Report
    facts: Facts


Event = StepStarted | StepEnded | Gathered | Judged | Done


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for.

    Attributes:
        pythons: interpreters to examine; empty: the one that the user's shell would run.
        quick: import no framework.
        only, skip: ids or areas of checks.
    """

    pythons: tuple[str, ...] = ()
    quick: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


ANYTHING = Wishes()


def examine(machine: Machine | None, wishes: Wishes = ANYTHING, facts: Facts | None = None) -> Iterator[Event]:
    """Examine a machine, or judge facts that were gathered before.

    Raises:
        SelectionError: `only` or `skip` matches nothing.
        InterpreterError: a given interpreter is not there or is no Python.
    """
    wanted = catalogue.load(catalogue.select(catalogue.ids(), wishes.only, wishes.skip))
    if facts is None:
        facts = yield from gather_events(machine or Machine(), wishes)
    yield Gathered(facts)
    verdicts = tuple(judge(facts, wanted))
    yield Judged(verdicts)
    yield Done(build(facts, verdicts), facts)


def gather(machine: Machine | None = None, wishes: Wishes = ANYTHING) -> Facts:
    """The facts of a machine."""
    events = gather_events(machine or Machine(), wishes)
    while True:
        try:
            next(events)
        except StopIteration as end:
            facts: Facts = end.value
            return facts


def check(machine: Machine | None = None, wishes: Wishes = ANYTHING, facts: Facts | None = None) -> Report:
    """The report on a machine, or on facts."""
    done = [event for event in examine(machine, wishes, facts) if isinstance(event, Done)]
    return done[-1].report


def gather_events(machine: Machine, wishes: Wishes) -> Generator[StepStarted | StepEnded, None, Facts]:
    """Gather facts; the generator's value is the Facts.

    What decides which questions make sense comes first (host, then PCI); the rest runs side by side.
    """
    from gpudoctor.probes import python as python_probe

    begun = time.monotonic()
    interpreters = python_probe.choose(machine, wishes.pythons) if machine.here or wishes.pythons else []
    first: dict[str, Any] = yield from run_steps([Step("host", "the machine", lambda: _host(machine))])
    host: Host = first["host"] or unanswered(Host, "the probe of the host failed")
    second = yield from run_steps([Step("pci", "the PCI bus", lambda: _pci(machine, host))])
    pci: Maybe[tuple[PciDevice, ...]] = second["pci"] if second["pci"] is not None else Unknown("the probe failed")
    rest = yield from run_steps(_steps(machine, wishes, host, pci, interpreters))
    nvidia, gpus = rest["nvidia"] or (unanswered(Nvidia, "the probe failed"), Unknown("the probe failed"))
    pythons = tuple(rest[f"python {i}"] for i in range(len(interpreters)) if rest[f"python {i}"])
    return Facts(
        version=__version__,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seconds=round(time.monotonic() - begun, 3),
        quick=wishes.quick,
        host=host,
        pci=pci,
        nvidia=nvidia,
        amd=rest["amd"] or unanswered(Amd, "the probe failed"),
        gpus=_together(gpus, rest["kfd"]),
        log=rest["log"] or unanswered(KernelLog, "the probe failed"),
        containers=rest["containers"] or unanswered(ContainerHost, "the probe failed"),
        toolkits=rest["toolkits"] or unanswered(Toolkits, "the probe failed"),
        pythons=pythons,
    )


def _host(machine: Machine) -> Host:
    from gpudoctor.probes import host

    return host.probe(machine)


def _pci(machine: Machine, host: Host) -> Maybe[tuple[PciDevice, ...]]:
    from gpudoctor.probes import pci

    return pci.probe(machine, host)


def _together(nvidia: Maybe[tuple[Gpu, ...]], amd: Maybe[tuple[Gpu, ...]] | None) -> Maybe[tuple[Gpu, ...]]:
    """GPUs of both vendors; what one vendor's driver says stands even where the other's is silent."""
    lists = [part for part in (nvidia, amd) if isinstance(part, tuple)]
    if any(lists):
        return tuple(gpu for part in lists for gpu in part)
    return nvidia if isinstance(nvidia, Unknown) else () if amd is None else amd


def _steps(
    machine: Machine,
    wishes: Wishes,
    host: Host,
    pci: Maybe[tuple[PciDevice, ...]],
    interpreters: Sequence[tuple[str, str]],
) -> list[Step]:
    from gpudoctor import probes

    devices = pci if isinstance(pci, tuple) else ()
    steps = [Step(name, label, function) for name, label, function in probes.system_steps(machine, host, devices)]
    nvidia = any(d.vendor == "10de" and d.role == "gpu" for d in devices)
    for number, (path, why) in enumerate(interpreters):
        steps.append(Step(f"python {number}", path, _python(machine, path, why, wishes.quick, nvidia)))
    return steps


def _python(machine: Machine, path: str, why: str, quick: bool, nvidia: bool) -> Callable[[], Python]:
    def ask() -> Python:
        from gpudoctor.probes import frameworks, python

        found = python.probe(machine, path, why, quick=quick)
        if found.error is not None:
            return found
        listed = frameworks.probe(machine, found, live=not quick, gpu=nvidia)
        return msgspec.structs.replace(found, frameworks=listed)

    return ask


def judged(facts: Facts) -> list[Verdict]:
    """The verdicts of all checks on facts."""
    return list(judge(facts, catalogue.load()))
