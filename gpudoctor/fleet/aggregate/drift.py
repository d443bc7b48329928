"""Facts on which nodes of like hardware do not agree: what most have, and who has something else."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.fleet.aggregate.disagreement import Fact, disputed, other_sets, package_of
from gpudoctor.fleet.aggregate.inventory_facts import HARDWARE, INTERPRETER
from gpudoctor.fleet.aggregate.inventory_sections import InventorySection, members
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Departure, Drift

# What matters first: a fact's place is that of the first word that it begins with.
ORDER = (
    "nvidia.kernel.loaded", "nvidia.nvml.driver_version", "amd.rocm", "nvidia.kernel.", "gpus", "gpus.*.vbios",
    "gpus.*.link", "gpus.*.nvlinks", "gpus.*.", "nvidia.", "host.kernel.", "host.", "packages.torch",
    "packages.nvidia-", "packages.jax", "packages.tensorflow", "packages", "",
)  # fmt: skip
DRIVER, OF_DRIVER = "nvidia.kernel.loaded", "nvidia.cuda.version"  # the second follows from the first
LISTED = 20  # values of one fact
# A fact with a value of its own on more than this share of the nodes names the nodes, and does not describe them.
_OWN, _OWN_LEAST, _OWN_LISTED = 0.5, 8, 3


def drifts(
    sections: Iterable[InventorySection], groups: array[int], labels: Sequence[str], names: Sequence[str]
) -> tuple[Drift, ...]:
    """Every fact on which a group does not agree.

    Args:
        sections: the parts of the inventories.
        groups: the number of each node's group.
        labels: the hardware of each group, in the order in which they are told.
        names: of the nodes.
    """
    found: list[tuple[int, Drift]] = []
    for section in sections:
        parts = _parts(section, groups, labels)
        folded = _Folded(parts, section, groups, names)
        for part in parts:
            found += ((part.group, drift) for drift in _of_group(part, folded))
    found.sort(key=lambda pair: (pair[0], _place(pair[1].fact), -_departing(pair[1]), pair[1].fact))
    return tuple(_without_echoes(drift for _, drift in found))


class _Part(NamedTuple):
    """One part of the inventories of one group."""

    section: InventorySection
    group: int
    label: str
    classes: dict[int, int]  # and how many nodes are in each
    facts: list[Fact]  # on which they do not agree

    def apart(self) -> set[int]:
        """The classes that depart from a majority."""
        return {
            number
            for fact in self.facts
            for value, numbers in fact.classes.items()
            if value != fact.majority
            for number in numbers
        }


def _parts(section: InventorySection, groups: array[int], labels: Sequence[str]) -> list[_Part]:
    counts: dict[int, dict[int, int]] = defaultdict(dict)
    for (group, number), count in Counter(zip(groups, section.of, strict=True)).items():
        counts[group][number] = count
    return [
        _Part(section, group, labels[group], classes, list(disputed(section, classes)))
        for group, classes in counts.items()
    ]


class _Folded:
    """The nodes of classes that depart, as folded names; found in one pass over all nodes."""

    def __init__(self, parts: list[_Part], section: InventorySection, groups: array[int], names: Sequence[str]) -> None:
        self._names = names
        self._nodes = {(part.group, number): array("I") for part in parts for number in part.apart()}
        self._texts: dict[tuple[int, frozenset[int]], str] = {}
        for pair, node in members(section.of, groups, self._nodes) if self._nodes else ():
            self._nodes[pair].append(node)

    def text(self, group: int, classes: Iterable[int]) -> str:
        """The nodes of some classes."""
        key = group, frozenset(classes)
        if key not in self._texts:
            numbers = (node for number in key[1] for node in self._nodes[group, number])
            self._texts[key] = fold(self._names[node] for node in numbers)
        return self._texts[key]


def _of_group(part: _Part, folded: _Folded) -> Iterator[Drift]:
    others = other_sets(part.facts)
    for start, other in others.items():
        yield _environments(part, start, other, folded)
    own = [_given_up(part, name, values) for name, values in part.section.given_up.items() if name != HARDWARE]
    for fact in part.facts:
        drift = _drift(part, fact, others.get(package_of(fact.name), {}), folded)
        if drift is not None and drift.departures:
            yield drift
        elif drift is not None:
            own.append(drift)
    yield from own if len(own) <= _OWN_LISTED else [_together(own)]


def _given_up(part: _Part, name: str, values: int) -> Drift:
    nodes = sum(part.classes.values())
    return Drift(hardware=part.label, fact=name, majority="", count=0, known=nodes, values=values, departures=())


def _together(own: list[Drift]) -> Drift:
    """One line for facts with values of their own on nearly every node."""
    own.sort(key=lambda one: (_place(one.fact), one.fact))
    return msgspec.structs.replace(
        own[0], fact=f"{own[0].fact} and {len(own) - 1} more facts", values=max(one.values for one in own)
    )


def _environments(part: _Part, start: str, other: Mapping[int, int], folded: _Folded) -> Drift:
    """One line for the nodes with another environment."""
    section, classes = part.section, part.classes
    found: dict[str, list[int]] = defaultdict(list)
    for number, packages in other.items():
        where = f": {section.value(number, INTERPRETER)}" if start == "packages." else ""
        found[f"{packages} packages differ{where}"].append(number)
    counts = Counter({value: sum(classes[number] for number in numbers) for value, numbers in found.items()})
    known = sum(count for number, count in classes.items() if not section.empty(number))
    return Drift(
        hardware=part.label,
        fact=f"{start}*",
        majority="the most common set",
        count=known - counts.total(),
        known=known,
        values=len(counts) + 1,
        departures=_departures(part.group, found, counts, folded),
    )


def _drift(part: _Part, fact: Fact, other: Mapping[int, int], folded: _Folded) -> Drift | None:
    """The drift of a fact, without the classes that are reported as another environment; None: nothing."""
    found = {value: [number for number in numbers if number not in other] for value, numbers in fact.classes.items()}
    counts = Counter(
        {value: sum(map(part.classes.__getitem__, numbers)) for value, numbers in found.items() if numbers}
    )
    count = counts.pop(fact.majority, 0)
    if not counts or (len(counts) == 1 and not fact.majority):
        return None
    own = len(fact.counts) > max(_OWN_LEAST, _OWN * fact.known)
    return Drift(
        hardware=part.label,
        fact=fact.name,
        majority=fact.majority,
        count=count,
        known=fact.known,
        values=len(fact.counts),
        departures=() if own else _departures(part.group, found, counts, folded),
    )


def _departures(
    group: int, found: Mapping[str, list[int]], counts: Counter[str], folded: _Folded
) -> tuple[Departure, ...]:
    most = sorted(counts, key=lambda value: (-counts[value], value))[:LISTED]
    return tuple(Departure(value=value, nodes=folded.text(group, found[value]), count=counts[value]) for value in most)


def _without_echoes(drifts: Iterable[Drift]) -> Iterator[Drift]:
    """Each drift, but for one that says of the same nodes the same as one before: the driver as NVML tells it.

    The newest CUDA that a driver runs follows from its version.
    """
    reported, drivers = set(), dict[str, set[str]]()
    for drift in drifts:
        key, nodes = (drift.hardware, drift.majority, drift.departures), {one.nodes for one in drift.departures}
        if drift.fact == DRIVER:
            drivers[drift.hardware] = nodes
        echo = key in reported or (drift.fact == OF_DRIVER and nodes <= drivers.get(drift.hardware, set()))
        if not echo or not drift.departures:
            yield drift
        reported.add(key)


def _departing(drift: Drift) -> int:
    return sum(one.count for one in drift.departures)


def _place(fact: str) -> int:
    """The place of the longest beginning that fits."""
    best = max((start for start in ORDER if fact.startswith(start)), key=len)
    return ORDER.index(best)
