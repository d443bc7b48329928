"""Gathers, judges and reports, as a stream of events that ends in a Report: every face runs this."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from gpudoctor import __version__, catalogue
from gpudoctor.areas import likely, on_request
from gpudoctor.check_engine import Check, Verdict, judge
from gpudoctor.child import end_all
from gpudoctor.facts import Facts, Gpu, Host, Nvidia, PciDevice, Python
from gpudoctor.facts.history import ChangeHistory
from gpudoctor.facts.validation import sound
from gpudoctor.lazy import Lazy
from gpudoctor.machine import TOTAL_SECONDS, Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parallel import ParallelStep, StepEnded, StepFailure, StepStarted, found_or, run_steps, unanswered
from gpudoctor.report.build import build
from gpudoctor.report.model import Report

if TYPE_CHECKING:
    from gpudoctor.probes import Probe
    from gpudoctor.probes.non_linux import Foreign
    from gpudoctor.smoketests.events import SmokeEvent
    from gpudoctor.smoketests.options import SmokeOptions

NO_ANSWER = "the probe failed or timed out"
# Seconds past the deadline: a child that has to be killed ends 2.5 s after its own (gpudoctor.child.run).
LATE = 3.5
HISTORY_SECONDS = 5.0  # a hundred times what reading the records of package managers takes

Bus = Lazy[Maybe[tuple[PciDevice, ...]]]


class Gathered(msgspec.Struct, frozen=True):
    """All facts are there."""

    facts: Facts


class Glimpsed(msgspec.Struct, frozen=True):
    """What can be said already, while probes still look: what they have not told yet is unknown."""

    report: Report


class Judged(msgspec.Struct, frozen=True):
    """All checks were asked."""

    verdicts: tuple[Any, ...]


class Done(msgspec.Struct, frozen=True):
    """The report is ready: the last event."""

    report: Report
    facts: Facts


if TYPE_CHECKING:
    Event = StepStarted | StepEnded | SmokeEvent | Glimpsed | Gathered | Judged | Done
else:
    Event = SmokeOptions = Any  # the smoke tests are loaded where somebody wants them; help() evaluates these names


class Expected(Protocol):
    """What an operator expects of a machine; it becomes a check when the facts are there (gpudoctor.expect)."""

    @property
    def id(self) -> str:
        """The id of its check."""
        ...

    def check(self, facts: Facts) -> Check[Any]:
        """The check that holds it against facts."""
        ...


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for.

    Attributes:
        pythons: interpreters to check; empty: the one that the user's shell would run.
        quick: import no framework.
        only, skip: ids or areas of checks.
        smoke: smoke tests to run once the facts are gathered; None: none.
        area: report only this area's findings, and what explains them; empty: all.
        glimpses: tell what can be said already each time that a probe has ended.
        expect: what else is asked, of files of expectations.
        recorded: the facts are of a file or a demo: nobody can choose another interpreter there.
    """

    pythons: tuple[str, ...] = ()
    quick: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    smoke: "SmokeOptions | None" = None
    area: str = ""
    glimpses: bool = False
    expect: tuple[Expected, ...] = ()
    recorded: bool = False


ANYTHING = CheckOptions()


def examine(machine: Machine | None, options: CheckOptions = ANYTHING, facts: Facts | None = None) -> Iterator[Event]:
    """Examine a machine, or judge facts that were gathered before.

    Raises:
        SelectionError: `only` or `skip` matches nothing.
        InterpreterError: a given interpreter is not there or is no Python.
        ChoiceError: a chosen smoke test, backend or device is not there.
    """
    own = {one.id: one for one in options.expect}
    chosen = catalogue.select([*catalogue.ids(), *own], options.only, options.skip)
    chosen = [id_ for id_ in chosen if options.only or id_ in own or not on_request(id_)]
    wanted = [id_ for id_ in chosen if id_ not in own]
    if facts is None:
        machine = machine or Machine()
        load = ParallelStep("checks", "the checks", partial(_load_ahead, machine, wanted))  # while children answer
        facts = yield from _gathering(gather_events(machine, options, load), wanted)
        if options.smoke is not None:
            facts = yield from _smoke(machine, facts, options.smoke)
    yield Gathered(facts)
    expected = [own[id_].check(facts) for id_ in chosen if id_ in own]
    verdicts = tuple(judge(facts, [*catalogue.load_for(facts, wanted), *expected]))
    yield Judged(verdicts)
    chosen_only = bool(options.only or options.skip)
    yield Done(build(facts, verdicts, chosen=chosen_only, area=options.area, recorded=options.recorded), facts)


def _load_ahead(machine: Machine, wanted: Sequence[str]) -> None:
    """Load the checks that will most likely be asked."""
    gpu = any(map(machine.exists, ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")))
    catalogue.load(id_ for id_ in wanted if likely(id_, gpu))


def _gathering(events: "Generator[Any, None, Facts]", wanted: Sequence[str]) -> "Generator[Event, None, Facts]":
    """The events of gathering, with each glimpse of the facts judged."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            facts: Facts = end.value
            return facts
        if isinstance(event, Facts):
            verdicts = tuple(judge(event, catalogue.load_for(event, wanted)))
            yield Glimpsed(build(event, verdicts))
        else:
            yield event


def stop(final: bool = False) -> None:
    """End every child of an examination that runs in another thread; its events then come to their end.

    Args:
        final: start none afterwards: the program is about to end.
    """
    end_all(closing=final)


def _smoke(
    machine: Machine, facts: Facts, choice: "SmokeOptions"
) -> "Generator[StepStarted | StepEnded | SmokeEvent, None, Facts]":
    """The facts with what the smoke tests measured."""
    from gpudoctor import smoketests

    return sound((yield from smoketests.measure(machine, facts, choice)))


def interpreters(machine: Machine) -> tuple[tuple[str, str], ...]:
    """The interpreters of this machine that one may pick from, each with its kind; empty under another root.

    None is run. It reads the user's folders, so a dead network mount holds it up: call it where that harms nobody.
    """
    from gpudoctor.probes.python import discovery

    return tuple((one.path, one.kind) for one in discovery.probe(machine)) if machine.here else ()


def gather(machine: Machine | None = None, options: CheckOptions = ANYTHING) -> Facts:
    """The facts of a machine."""
    events = gather_events(machine or Machine(), options)
    while True:
        try:
            next(events)
        except StopIteration as end:
            facts: Facts = end.value
            return facts


def check(machine: Machine | None = None, options: CheckOptions = ANYTHING, facts: Facts | None = None) -> Report:
    """The report on a machine, or on facts."""
    done = [event for event in examine(machine, options, facts) if isinstance(event, Done)]
    return done[-1].report


def gather_events(machine: Machine, options: CheckOptions, *beside: ParallelStep) -> "Generator[Any, None, Facts]":
    """Gather facts; the generator's value is the Facts. With `glimpses`, what there is so far comes in between.

    Those steps that need to know what the machine is wait for it themselves.
    """
    from gpudoctor import probes
    from gpudoctor.probes import python as python_probe

    begun = time.monotonic()
    interpreters = python_probe.choose(machine, options.pythons) if machine.here or options.pythons else []
    python_probe.ask_early(machine, interpreters)
    foreign = _foreign(machine, options.quick)
    inputs: dict[str, Callable[[], Any]] = {"machine": lambda: machine, "host": lambda: host.get()}
    host = Lazy(foreign.host if foreign else lambda: probes.HOST.run(inputs), unanswered(Host, NO_ANSWER))
    pci: Bus = Lazy(foreign.pci if foreign else lambda: probes.PCI.run(inputs), Unknown(NO_ANSWER))
    system = foreign.steps if foreign else probes.system_steps(machine, host.get, lambda: _devices(pci), options.quick)
    first = [
        ParallelStep(probes.HOST.key, probes.HOST.label, host.make),
        ParallelStep(probes.PCI.key, probes.PCI.label, pci.make),
    ]
    others = [*(ParallelStep(*named) for named in system), *beside]
    pythons = [*_python_steps(machine, interpreters, options.quick, pci)]
    # Frameworks are imported in children, for which the others need not wait. A quick examination waits for the
    # interpreters' answers alone, which are there when all else is done: so one thread does it all.
    steps = [*first, *others, *pythons] if options.quick else [*first, *pythons, *others]
    found: dict[str, Any] = {}
    for event in run_steps(steps, machine.left(TOTAL_SECONDS) + LATE, found):
        yield event
        if options.glimpses and isinstance(event, StepEnded):
            yield _so_far(_facts(options, interpreters, found, begun), found)
    return (yield from _with_history(machine, _facts(options, interpreters, found, begun)))


def _with_history(machine: Machine, facts: Facts) -> "Generator[StepStarted | StepEnded, None, Facts]":
    """The facts with what was changed and when, where that may explain what is broken; nowhere else is it read."""
    from gpudoctor import probes

    if not probes.driver_fails(facts) and not probes.cpu_builds(facts):
        return facts
    from gpudoctor.probes import history

    step = ParallelStep("history", "what was changed", lambda: history.probe(machine, facts))
    results = yield from run_steps([step], machine.left(HISTORY_SECONDS))
    found = results["history"]
    if isinstance(found, StepFailure):
        return msgspec.structs.replace(facts, history=unanswered(ChangeHistory, found.why))
    return sound(msgspec.structs.replace(facts, history=found))


def _so_far(facts: Facts, found: dict[str, Any]) -> Facts:
    """The facts as they are before all probes have ended: one that still looks has not failed."""
    answered = tuple(p for i, p in enumerate(facts.pythons) if not isinstance(found[f"python {i}"], StepFailure))
    return msgspec.structs.replace(facts, failed=(), pythons=answered)


def _facts(
    options: CheckOptions, interpreters: Sequence[tuple[str, str]], found: dict[str, Any], begun: float
) -> Facts:
    """The facts out of what the steps found; a step that failed or did not end leaves its part unknown, with why."""
    from gpudoctor.probes import FOREIGN, HOST, PCI, PROBES

    parts: dict[str, Any] = {}
    gpus: list[Maybe[tuple[Gpu, ...]]] = []  # NVML's, and those of other drivers
    for path, value in (filled for probe in (HOST, PCI, *PROBES, *FOREIGN) for filled in _filled(probe, found)):
        part, _, field = path.partition(".")
        if part == "gpus":
            gpus.append(value)
        else:
            parts[part] = msgspec.structs.replace(parts[part], **{field: value}) if field else value
    facts = Facts(
        version=__version__,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seconds=round(time.monotonic() - begun, 3),
        quick=options.quick,
        failed=tuple((part, result.why) for part, result in found.items() if isinstance(result, StepFailure)),
        gpus=_together(_none_there(gpus[0], parts["nvidia"], parts["pci"], parts["host"]), gpus[1]),
        pythons=tuple(_of_python(found[f"python {i}"], path, why) for i, (path, why) in enumerate(interpreters)),
        **parts,
    )
    return sound(facts)


def _filled(probe: "Probe", found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parts of the facts that a probe fills, each with what it found, or unknown with why."""
    result = found.get(probe.key, probe.elsewhere)
    for number, path in enumerate(probe.parts):
        if isinstance(result, StepFailure):
            default = attrgetter(path)(Facts())
            yield path, Unknown(result.why) if isinstance(default, Unknown) else unanswered(type(default), result.why)
        else:
            yield path, result[number] if len(probe.parts) > 1 else result


def _of_python(result: Any, path: str, why: str) -> Python:
    error = result.why if isinstance(result, StepFailure) else None
    return found_or(result, Python, {"path": path, "found_by": why, "error": error})


def _none_there(
    gpus: Maybe[tuple[Gpu, ...]], nvidia: Nvidia, pci: Maybe[tuple[PciDevice, ...]], host: Host
) -> Maybe[tuple[Gpu, ...]]:
    """NVIDIA's GPUs: none where the bus shows none and no library is there to ask; elsewhere as NVML said.

    Windows hosts and Jetson boards show their GPU on no bus of ours.
    """
    hidden = host.wsl is not None or host.platform == "jetson"
    if isinstance(gpus, tuple) or isinstance(pci, Unknown) or hidden or any(d.vendor == "10de" for d in pci):
        return gpus
    return () if nvidia.nvml.libraries == () else gpus


def _together(nvidia: Maybe[tuple[Gpu, ...]], amd: Maybe[tuple[Gpu, ...]]) -> Maybe[tuple[Gpu, ...]]:
    """GPUs of both vendors; what one vendor's driver says stands even where the other's is silent."""
    lists = [part for part in (nvidia, amd) if isinstance(part, tuple)]
    if any(lists):
        return tuple(gpu for part in lists for gpu in part)
    return nvidia if isinstance(nvidia, Unknown) else amd


def _devices(pci: Bus) -> tuple[PciDevice, ...]:
    return known_or(pci.get(), ())


def _foreign(machine: Machine, quick: bool) -> "Foreign | None":
    """The probes of a system that is not Linux; None on Linux."""
    if machine.system == "Linux":
        return None
    from gpudoctor.probes import non_linux

    return non_linux.probes(machine, quick)


def _python_steps(
    machine: Machine, interpreters: Sequence[tuple[str, str]], quick: bool, pci: Bus
) -> Iterator[ParallelStep]:
    def nvidia() -> bool:
        return any(d.vendor == "10de" and d.role == "gpu" for d in _devices(pci))

    for number, (path, why) in enumerate(interpreters):
        yield ParallelStep(f"python {number}", path, _python(machine, path, why, quick, nvidia))


def _python(machine: Machine, path: str, why: str, quick: bool, nvidia: Callable[[], bool]) -> Callable[[], Python]:
    def ask() -> Python:
        from gpudoctor.probes import frameworks, python

        found = python.probe(machine, path, why, quick=quick, gpu=not quick and nvidia())
        if found.error is not None:
            return found
        listed = frameworks.probe(machine, found, live=not quick, gpu=not quick and nvidia())
        found = msgspec.structs.replace(found, frameworks=listed)
        if not quick and machine.system == "Linux":
            found = python.with_imports(machine, found)
        if not machine.here or (listed and quick):
            return found
        from gpudoctor.probes.python import elsewhere as python_elsewhere

        if listed:
            return msgspec.structs.replace(found, pip=python_elsewhere.pip_on_path(machine, found))
        return msgspec.structs.replace(found, **python_elsewhere.probe(machine, found)._asdict())

    return ask


def judged(facts: Facts) -> list[Verdict]:
    """The verdicts on facts of all checks that run unasked."""
    return list(judge(facts, catalogue.load()))
