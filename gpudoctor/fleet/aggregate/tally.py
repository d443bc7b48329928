"""What is kept of each report while they stream by: some numbers a node, and whatever was not seen before."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import msgspec

from gpudoctor.fleet.aggregate import hardware, inventory_facts
from gpudoctor.fleet.aggregate.causes import Causes
from gpudoctor.fleet.aggregate.drift import drifts
from gpudoctor.fleet.aggregate.inputs import Sent
from gpudoctor.fleet.aggregate.inventory_facts import Hardware
from gpudoctor.fleet.aggregate.inventory_sections import ABSENT, InventorySection
from gpudoctor.fleet.aggregate.majority import agreed
from gpudoctor.fleet.aggregate.measurements import Figures, measured
from gpudoctor.fleet.aggregate.missing_reports import UNREADABLE, MissingReports
from gpudoctor.fleet.aggregate.outliers import spreads
from gpudoctor.fleet.aggregate.peers import alike
from gpudoctor.fleet.aggregate.report_header import EMPTY, ReportError, ReportHeader, head, moment, said
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import STATES, Cause, Drift, HardwareGroup, Spread
from gpudoctor.report.inventory import Inventory
from gpudoctor.report.model import FindingEntry, SmokeEntry

Hold = Callable[[Inventory, tuple[SmokeEntry, ...], frozenset[str]], tuple[FindingEntry, ...]]
_OFTEN = 255  # nodes between two looks at how much is kept
_HELD = 1000  # inventories of which it is known what they are found to lack
_inventory = msgspec.json.Decoder(Inventory).decode
_smoke = msgspec.json.Decoder(tuple[SmokeEntry, ...]).decode
_NUMBERS = {state: number for number, state in enumerate(STATES)}


class Tally:
    """The nodes so far.

    Args:
        hold: gives the findings of a node that is compared with expectations, besides its report's own.
    """

    def __init__(self, hold: Hold | None = None) -> None:
        self.names: list[str] = []
        self.absent = MissingReports()
        self.oldest = self.newest = ""
        self._states = array("B")
        self._machine, self._gpus, self._packages = InventorySection(), InventorySection(), InventorySection()
        self._causes, self._figures = Causes(), Figures()
        self._hold = hold
        self._held: dict[tuple[bytes, bytes, bytes, frozenset[str]], tuple[FindingEntry, ...]] = {}

    def add(self, sent: Sent) -> None:
        """Take in a report; one that cannot be read is noted as that."""
        if sent.why:
            self.absent.add(sent.node, UNREADABLE, sent.why)
            return
        try:
            self._take(sent.node, head(b"", sent.line) if sent.line else head(sent.data))
        except ReportError as error:
            self.absent.add(sent.node, UNREADABLE, str(error))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            self.absent.add(sent.node, UNREADABLE, f"It is not a report: {said(error)}.")

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
        if self._hold is not None:
            own, findings = findings, (*findings, *self._lacks(one, findings))
            status = _worse(status, findings[len(own) :])
        node = len(self.names)
        if findings:
            self._causes.add(node, name, findings)
        if figures:
            body = hardware.body(hardware.kind(self._machine, self._gpus, (machine, gpus)))
            self._figures.add(body, node, name, figures)
        self._note(name, status, one.created)
        self._machine.of.append(machine)
        self._gpus.of.append(gpus)
        self._packages.of.append(packages)
        if node & _OFTEN == _OFTEN:
            self._slim()

    def _note(self, name: str, status: str, created: str) -> None:
        self.names.append(name)
        self._states.append(_NUMBERS[status])
        if created := moment(created):
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

    def states(self) -> dict[str, list[str]]:
        """The nodes of each state, worst first."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, number in zip(self.names, self._states, strict=True):
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
                divided = self._gpus.value(number, "gpus.*.mig") not in (False, None, ABSENT)
                counts[number] = hardware.number if isinstance(hardware, Hardware) and not divided else 0
            if counts[number]:
                yield name, counts[number]

    def numbered(self) -> Iterator[tuple[str, hardware.Kind]]:
        """The nodes among which one might lack GPUs, and what they are: of one model, with different numbers of a GPU.

        Not those whose model is unknown, or where MIG divides a GPU.
        """
        kinds: dict[tuple[int, int], hardware.Kind] = {}
        numbers: dict[hardware.Kind, set[int]] = defaultdict(set)
        for pair in set(zip(self._machine.of, self._gpus.of, strict=True)):
            one = hardware.kind(self._machine, self._gpus, pair)
            divided = self._gpus.value(pair[1], "gpus.*.mig") not in (False, None, ABSENT)
            if one.product and one.hardware.number and not divided:
                kinds[pair] = one
                numbers[alike(one)].add(one.hardware.number)
        some = {pair: one for pair, one in kinds.items() if len(numbers[alike(one)]) > 1}
        for name, pair in (
            zip(self.names, zip(self._machine.of, self._gpus.of, strict=True), strict=True) if some else ()
        ):
            if pair in some:
                yield name, some[pair]

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
            spreads(self._figures.columns(), labels, self.names),
            key=lambda one: (place.get(one.hardware, len(order)), not one.outliers),
        )
        return self._groups(of, order, sizes), found, tuple(measured)

    def _groups(self, of: array[int], order: Sequence[str], sizes: Counter[str]) -> tuple[HardwareGroup, ...]:
        nodes = [array("I") for _ in order]
        for node, group in enumerate(of):
            nodes[group].append(node)
        facts_of = agreed((self._machine, self._gpus, self._packages), of)
        return tuple(
            HardwareGroup(
                hardware=label,
                nodes=fold(self.names[node] for node in nodes[at]),
                count=sizes[label],
                facts=facts_of.get(at, {}),
            )
            for at, label in enumerate(order)
        )


def _worse(status: str, found: Sequence[FindingEntry]) -> str:
    """The status of a node with what it is found to lack."""
    statuses = {one.status for one in found}
    if "fail" in statuses:
        return "fail"
    return "warn" if status == "pass" and "warn" in statuses else status
