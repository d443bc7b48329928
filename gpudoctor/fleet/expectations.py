"""Expectations compared with reports: what a report carries of a machine's facts is made facts again, and judged."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import msgspec

from gpudoctor.check_engine import Outcome, Severity, run
from gpudoctor.expect.expectation import Expectation
from gpudoctor.expect.paths import PathError, joined, resolve
from gpudoctor.facts import Facts, Figure, Gpu, Package, Python, Smoke, SmokeRun, SmokeTest
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import entry_of
from gpudoctor.report.inventory import GPU, MACHINE, Inventory
from gpudoctor.report.model import FindingEntry, SmokeEntry, SmokeTestEntry

SILENT = Unknown("not in the report")
_NAMED = 8  # paths that a sentence lists


class Holding:
    """Holds expectations against one report after the other; what could not be held is neither a pass nor a fail.

    Args:
        expected: of gpudoctor.expect.loader.load.
    """

    def __init__(self, expected: Sequence[Expectation]) -> None:
        self._carried = tuple(one for one in expected if carried(one.steps))
        self._left = tuple(one for one in expected if not carried(one.steps))
        self._needed = tuple(one.steps for one in self._carried)
        self._held: set[str] = set()
        self._unknown: dict[str, str] = {}

    def __call__(
        self, inventory: Inventory, smoke: tuple[SmokeEntry, ...], failed: frozenset[str] = frozenset()
    ) -> tuple[FindingEntry, ...]:
        """What is not as expected of one machine, and is no effect of what its own report finds.

        Args:
            inventory: of its report.
            smoke: of its report.
            failed: IDs of the checks that fail in its report.
        """
        facts = facts_of(inventory, smoke, self._needed)
        return tuple(entry for one in self._carried for entry in self._one(one, facts, failed))

    def _one(self, one: Expectation, facts: Facts, failed: frozenset[str]) -> list[FindingEntry]:
        check = one.check(facts)
        if any(fnmatchcase(id_, cause) for id_ in failed for cause in check.caused_by):
            self._held.add(one.id)
            return []
        verdicts = run(check, facts)
        for verdict in verdicts:
            if verdict.outcome in (Outcome.UNKNOWN, Outcome.BROKEN):
                self._unknown.setdefault(one.id, verdict.message)
            else:
                self._held.add(one.id)
        return [entry_of(verdict, Facts()) for verdict in verdicts if verdict.outcome is Outcome.PROBLEM]

    @property
    def open(self) -> bool:
        """Whether something that is no mere advice could not be compared with every report."""
        left = [one for one in (*self._left, *self._carried) if one in self._left or one.id in self._unknown]
        return any(one.severity is not Severity.ADVICE for one in left)

    def unheld(self) -> tuple[str, ...]:
        """A sentence for each reason why something could not be held, once for all reports."""
        message = []
        if self._left:
            paths = [f"`{one.path}`" for one in self._left]
            more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
            message.append(
                f"Not checked: {', '.join(paths[:_NAMED])}{more}. Reports do not contain it; use `gpudoctor fleet run "
                "--expect FILE`, which checks it on the nodes themselves."
            )
        for one in self._carried:
            if one.id in self._unknown:
                which = "some of the reports" if one.id in self._held else "any report"
                why = self._unknown[one.id].partition(" is unknown: ")[2] or self._unknown[one.id]
                message.append(f"`{one.path}` is unknown in {which}: {why.rstrip('.')}.")
        return tuple(message)


def carried(steps: Sequence[str]) -> bool:
    """Whether reports hold what a path leads to."""
    match tuple(steps):
        case ("gpus", place, field):
            return (place == "*" or place.isdecimal()) and field in GPU
        case ("pythons", _, "packages", name):
            return name != "*" and not name.isdecimal()
        case ("pythons", _, "packages", name, "version"):
            return name != "*" and not name.isdecimal()
        case ("smoke", first, *rest):
            return bool(rest) and first not in Smoke.__struct_fields__
    return tuple(steps) == ("gpus",) or joined(steps) in MACHINE


def facts_of(inventory: Inventory, smoke: tuple[SmokeEntry, ...], needed: Sequence[tuple[str, ...]]) -> Facts:
    """The facts that a report carries; the others are unknown, or not asked about.

    Args:
        inventory: of the report.
        smoke: of the report.
        needed: paths; nothing else is filled in.
    """
    facts = Facts(gpus=_gpus(inventory, needed), pythons=_pythons(inventory, needed))
    for steps in needed:
        if (path := joined(steps)) in MACHINE:
            facts = _put(facts, steps, _fact(steps, inventory.machine, path))
    if any(steps[0] == "smoke" for steps in needed):
        facts = msgspec.structs.replace(facts, smoke=Smoke(runs=tuple(map(_run, smoke))))
    return facts


def _fact(steps: Sequence[str], values: dict[str, Any], name: str) -> Any:
    """A value of the type that facts have there: what a report holds may be anything."""
    if name not in values:
        return SILENT
    value = values[name]
    try:
        return None if value is None else msgspec.convert(value, _type(tuple(steps)), strict=True)
    except (msgspec.ValidationError, PathError):
        return Unknown("the report has a value of another type there")


@cache
def _type(steps: tuple[str, ...]) -> Any:
    return resolve(steps).type  # which asks the annotations of every struct on its way


def _put(node: Any, steps: Sequence[str], value: Any) -> Any:
    """The same tree with another value at a path."""
    first, *rest = steps
    below = _put(getattr(node, first), rest, value) if rest else value
    return msgspec.structs.replace(node, **{first: below})


def _gpus(inventory: Inventory, needed: Sequence[tuple[str, ...]]) -> Any:
    if "gpus" not in inventory.machine:
        return SILENT
    fields = {steps[2] for steps in needed if steps[0] == "gpus" and len(steps) == 3}
    return tuple(
        Gpu(vendor="", index=index, **{name: _fact(("gpus", "*", name), values, name) for name in fields})
        for index, values in enumerate(inventory.gpus)
    )


def _pythons(inventory: Inventory, needed: Sequence[tuple[str, ...]]) -> tuple[Python, ...]:
    """The interpreters; one of which no package is known could not be asked, because each has some."""
    names = {steps[3] for steps in needed if steps[0] == "pythons"}
    if not names:
        return ()
    return tuple(
        Python(
            path=path,
            packages=tuple(Package(name=n, version=packages[n], directory="") for n in names if n in packages)
            if packages
            else SILENT,
        )
        for path, packages in inventory.packages.items()
    )


def _run(entry: SmokeEntry) -> SmokeRun:
    return SmokeRun(
        backend=entry.backend,
        kind=entry.kind,
        python=entry.python,
        version=entry.version,
        gpu=entry.gpu,
        label=entry.device,
        name=entry.name,
        message=entry.message,
        tests=tuple(map(_test, entry.tests)),
    )


def _test(entry: SmokeTestEntry) -> SmokeTest:
    figures = tuple(Figure(name=one.name, value=one.value, unit=one.unit) for one in entry.figures)
    outcome: Any = entry.outcome  # told, and not compared
    return SmokeTest(name=entry.test, variant=entry.variant, outcome=outcome, message=entry.message, figures=figures)
