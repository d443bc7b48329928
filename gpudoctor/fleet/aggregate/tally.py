"""What is kept of each report while they stream by: some numbers a node, and whatever was not seen before."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import timedelta

import msgspec

from gpudoctor.fleet.aggregate import hardware, inventory_facts
from gpudoctor.fleet.aggregate.causes import Causes
from gpudoctor.fleet.aggregate.chosen import limited
from gpudoctor.fleet.aggregate.drift import drifts
from gpudoctor.fleet.aggregate.inputs import Sent
from gpudoctor.fleet.aggregate.inventory_facts import Hardware
from gpudoctor.fleet.aggregate.inventory_sections import ABSENT, InventorySection
from gpudoctor.fleet.aggregate.majority import agreed
from gpudoctor.fleet.aggregate.measurements import Figures, measured
from gpudoctor.fleet.aggregate.missing_reports import UNREADABLE, MissingReports, in_order, why_incomplete
from gpudoctor.fleet.aggregate.outliers import spreads
from gpudoctor.fleet.aggregate.peers import UNKNOWN_MODEL, series
from gpudoctor.fleet.aggregate.report_ages import seconds, stale
from gpudoctor.fleet.aggregate.report_header import EMPTY, ReportError, ReportHeader, head, moment, said
from gpudoctor.fleet.aggregate.targets import addresses_of
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.runner.ledger import STATES as LEDGER
from gpudoctor.fleet.summary import STATES, Cause, Departure, Drift, HardwareGroup, Missing, Spread
from gpudoctor.report.inventory import Inventory
from gpudoctor.report.model import FindingEntry, SmokeEntry

Hold = Callable[[Inventory, tuple[SmokeEntry, ...], frozenset[str]], tuple[FindingEntry, ...]]
_OFTEN = 255  # nodes between two looks at how much is kept
_HELD = 1000  # inventories of which it is known what they are found to lack
_inventory = msgspec.json.Decoder(Inventory).decode
_smoke = msgspec.json.Decoder(tuple[SmokeEntry, ...]).decode
_CALM = ("no-gpu", "warn", "pass")  # states that an old report proves no more
_NUMBERS = {state: number for number, state in enumerate(STATES)}


class Tally:
    """The nodes so far.

    Args:
        hold: gives the findings of a node that is compared with expectations, besides its report's own.
        only: nodes that are reported; the others are what they are compared with. None: all.
    """

    def __init__(self, hold: Hold | None = None, only: Container[str] | None = None) -> None:
        self.names: list[str] = []
        self.absent, self.unjudged = MissingReports(), MissingReports()
        self._only = only
        self._made = array("q")
        self.oldest = self.newest = ""
        self._states = array("B")
        self._machine, self._gpus, self._packages = InventorySection(), InventorySection(), InventorySection()
        self._causes, self._figures = Causes(), Figures()
        self._hold = hold
        self._held: dict[tuple[bytes, bytes, bytes, frozenset[str]], tuple[FindingEntry, ...]] = {}

    def add(self, sent: Sent) -> None:
        """Take in a report; one that cannot be read is noted as that."""
        why = sent.why
        try:
            if not why:
                self._take(sent.node, head(b"", sent.line) if sent.line else head(sent.data))
        except ReportError as error:
            why = str(error)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            why = f"It is not a report: {said(error)}."
        if why and self._tells(sent.node):
            self.absent.add(sent.node, sent.state if sent.state in LEDGER else UNREADABLE, why)

    def _tells(self, name: str) -> bool:
        return self._only is None or name in self._only

    def _take(self, name: str, one: ReportHeader) -> None:
        """Everything is parsed before anything is noted, so that half a report leaves nothing."""
        machine = self._machine.number(one.machine, inventory_facts.of_machine)
        if one.listed == EMPTY:
            gpus = self._gpus.number(one.gpus, inventory_facts.of_shown)
        else:
            gpus = self._gpus.number(one.listed, inventory_facts.of_gpus)
        packages = self._packages.number(one.packages, inventory_facts.of_packages)
        findings = self._causes.read(one.findings) if one.findings != EMPTY else ()
        figures = measured(one.smoke) if one.smoke != EMPTY else ()
        status = one.status
        tells = self._tells(name)
        if self._hold is not None and tells:
            own, findings = findings, (*findings, *self._lacks(one, findings))
            status = _worse(status, findings[len(own) :])
        node = len(self.names)
        if findings and tells:
            self._causes.add(node, name, findings, addresses_of(one.gpus, findings))
        if figures:
            body = hardware.body(hardware.kind(self._machine, self._gpus, (machine, gpus)))
            self._figures.add(body, node, name, figures)
        if status == "incomplete" and tells:
            self.unjudged.add(name, status, why_incomplete(one.unknown))
        self._note(name, status, one.created, tells)
        self._machine.of.append(machine)
        self._gpus.of.append(gpus)
        self._packages.of.append(packages)
        if node & _OFTEN == _OFTEN:
            self._slim()

    def _note(self, name: str, status: str, created: str, tells: bool) -> None:
        self.names.append(name)
        self._states.append(_NUMBERS[status])
        created = moment(created)
        self._made.append(seconds(created))
        if created and tells:
            self.oldest = min(self.oldest or created, created)
            self.newest = max(self.newest, created)

    def _slim(self) -> None:
        for section in (self._machine, self._gpus, self._packages):
            section.slim()
        self._figures.slim(self.names)

    def _lacks(self, one: ReportHeader, own: Sequence[FindingEntry]) -> tuple[FindingEntry, ...]:
        """What a node is found to lack when it is compared with expectations, besides what its report finds."""
        failed = frozenset(finding.check for finding in own if finding.status == "fail")
        key = one.machine, one.listed, one.packages, failed
        if one.smoke == EMPTY and key in self._held:
            return self._held[key]
        assert self._hold is not None  # noqa: S101 - said to mypy
        inventory = _inventory(b'{"machine":%b,"gpus":%b,"packages":%b}' % key[:3])
        found = self._hold(inventory, _smoke(one.smoke), failed)
        if one.smoke == EMPTY:
            if len(self._held) >= _HELD:
                self._held.clear()
            self._held[key] = found
        return found

    def age(self, max_age: timedelta | None, now: float) -> None:
        """Put the nodes whose reports are too old to show how they are into a state of their own.

        What an old report finds wrong stays: nobody knows that it was repaired.

        Args:
            max_age: how old a report may be; None: `report_ages.USUAL` before the newest one.
            now: seconds since 1970.
        """
        for place, why in stale(self._made, max_age, now):
            if STATES[self._states[place]] in _CALM:
                self._states[place] = _NUMBERS["stale"]
                if self._tells(self.names[place]):
                    self.unjudged.add(self.names[place], "stale", why)

    def entries(self) -> tuple[Missing, ...]:
        """The nodes without a verdict, by reason, worst state first."""
        return in_order((*self.absent.entries(), *self.unjudged.entries()))

    def states(self) -> dict[str, list[str]]:
        """The nodes of each state, worst first."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, number in zip(self.names, self._states, strict=True):
            if self._tells(name):
                found[STATES[number]].append(name)
        for state in STATES:
            found[state] += self.absent.of(state)
        return {state: found[state] for state in STATES if found[state]}

    def found_gpus(self) -> Iterator[tuple[str, int]]:
        """Each node with the GPUs that its driver lists; not where there is none, or where MIG divides one."""
        counts: dict[int, int] = {}
        for name, number in zip(self.names, self._gpus.of, strict=True):
            if number not in counts:
                hardware = self._gpus.value(number, inventory_facts.HARDWARE)
                counts[number] = hardware.number if isinstance(hardware, Hardware) and not self._mig(number) else 0
            if counts[number] and self._tells(name):
                yield name, counts[number]

    def kinds(self) -> Iterator[tuple[str, hardware.Kind | None]]:
        """Each node that has GPUs, and what it is as hardware; None: nobody can say how many it should have.

        That is where MIG divides one, or neither the machine's model nor its number of CPUs is known.
        """
        found: dict[tuple[int, int], hardware.Kind | None] = {}
        having = self._having_gpus()
        for name, pair in zip(self.names, zip(self._machine.of, self._gpus.of, strict=True), strict=True):
            if pair not in found:
                one = hardware.kind(self._machine, self._gpus, pair)
                cpus = self._machine.value(pair[0], "host.cpus")
                if not one.product and isinstance(cpus, int | float):
                    one = one._replace(product=f"{UNKNOWN_MODEL} with {cpus:g} CPUs")
                found[pair] = one if one.product and not self._mig(pair[1]) else None
            if pair[1] in having:
                yield name, found[pair]

    def cpu_only(self) -> set[str]:
        """The nodes without a GPU that are like none that has some: neither their names nor their models."""
        empty = [at for at, state in enumerate(self._states) if STATES[state] == "no-gpu"]
        having = self._having_gpus() if empty else set()
        if not having:
            return set()
        names = {series(name) for name, number in zip(self.names, self._gpus.of, strict=True) if number in having}
        pairs = set(zip(self._machine.of, self._gpus.of, strict=True))
        models = {self._machine.value(machine, "host.product") for machine, gpus in pairs if gpus in having}
        return {
            self.names[at]
            for at in empty
            if series(self.names[at]) not in names
            and self._machine.value(self._machine.of[at], "host.product") not in {*models, ABSENT, None}
        }

    def _having_gpus(self) -> set[int]:
        """The classes of nodes that have GPUs, also those that no driver lists."""
        found = ((number, self._gpus.value(number, inventory_facts.HARDWARE)) for number in set(self._gpus.of))
        return {number for number, one in found if isinstance(one, Hardware) and (one.number or one.silent)}

    def _mig(self, number: int) -> bool:
        return self._gpus.value(number, "gpus.*.mig") not in (False, None, ABSENT)

    def causes(self) -> tuple[Cause, ...]:
        """The causes, worst first."""
        return self._causes.reported(self.names)

    def grouped(self) -> tuple[tuple[HardwareGroup, ...], tuple[Drift, ...], tuple[Spread, ...]]:
        """The groups of like hardware, largest first; on what they do not agree; what they measured."""
        pairs = Counter(zip(self._machine.of, self._gpus.of, strict=True))
        kinds: Counter[hardware.Kind] = Counter()
        of_pair = {}
        for pair, count in pairs.items():
            of_pair[pair] = hardware.kind(self._machine, self._gpus, pair)
            kinds[of_pair[pair]] += count
        labels = hardware.groups(kinds)
        sizes: Counter[str] = Counter()
        for kind, count in kinds.items():
            sizes[labels[hardware.body(kind)]] += count
        order = sorted(sizes, key=lambda label: (-sizes[label], label))
        place = {label: at for at, label in enumerate(order)}
        numbers = {pair: place[labels[hardware.body(kind)]] for pair, kind in of_pair.items()}
        of = array("I", map(numbers.__getitem__, zip(self._machine.of, self._gpus.of, strict=True)))
        found = drifts((self._machine, self._gpus, self._packages), of, order, self.names)
        measured = sorted(
            spreads(self._figures.columns(), labels, self.names, self._only),
            key=lambda one: (place.get(one.hardware, len(order)), not one.outliers),
        )
        own = {pair: hardware.label(hardware.body(kind)) for pair, kind in of_pair.items()}
        return limited(self._groups(of, order, own), found, tuple(measured), self._only)

    def _groups(
        self, of: array[int], order: Sequence[str], own: Mapping[tuple[int, int], str]
    ) -> tuple[HardwareGroup, ...]:
        nodes: list[dict[str, array[int]]] = [{label: array("I")} for label in order]
        for node, pair in enumerate(zip(self._machine.of, self._gpus.of, strict=True)):
            nodes[of[node]].setdefault(own[pair], array("I")).append(node)
        facts_of = agreed((self._machine, self._gpus, self._packages), of)
        return tuple(
            HardwareGroup(
                hardware=label,
                nodes=fold(self.names[node] for some in nodes[at].values() for node in some),
                count=sum(map(len, nodes[at].values())),
                facts=facts_of.get(at, {}),
                fewer=tuple(
                    Departure(value=had, nodes=fold(map(self.names.__getitem__, some)), count=len(some))
                    for had, some in sorted(nodes[at].items())  # not in the order in which reports were read
                    if had != label
                ),
            )
            for at, label in enumerate(order)
        )


def _worse(status: str, found: Sequence[FindingEntry]) -> str:
    """The status of a node with what it is found to lack."""
    statuses = {one.status for one in found}
    if "fail" in statuses:
        return "fail"
    return "warn" if status == "pass" and "warn" in statuses else status
