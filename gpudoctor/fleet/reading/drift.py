"""Facts on which nodes of like hardware do not agree: what most have, and who has something else."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.comparison.rules import KEPT
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.reading.facts import HARDWARE, INTERPRETER, MEMORIES, text
from gpudoctor.fleet.reading.sections import ABSENT, Absent, Section, members
from gpudoctor.fleet.summary import Departure, Drift

# What matters first: a fact's place is that of the first word that it begins with.
ORDER = (
    "nvidia.kernel.loaded", "nvidia.nvml.driver_version", "amd.rocm", "nvidia.kernel.", "gpus", "gpus.*.vbios",
    "gpus.*.link", "gpus.*.nvlinks", "gpus.*.", "nvidia.", "host.kernel.", "host.", "packages.torch",
    "packages.nvidia-", "packages.jax", "packages.tensorflow", "packages", "",
)  # fmt: skip
# A node in which more packages than this are others has another environment: told in one line.
_OTHER_SET = 20
LISTED = 20  # values of one fact
# A fact with a value of its own on more than this share of the nodes names the nodes, and does not describe them.
_OWN, _OWN_LEAST, _OWN_LISTED = 0.5, 8, 3


class _Fact(NamedTuple):
    """A fact in one group: which classes have which value."""

    name: str
    classes: dict[str, list[int]]
    counts: Counter[str]
    majority: str
    known: int


def drifts(
    sections: Iterable[Section], groups: array[int], labels: Sequence[str], names: Sequence[str]
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
        counts: dict[int, dict[int, int]] = defaultdict(dict)
        for (group, number), count in Counter(zip(groups, section.of, strict=True)).items():
            counts[group][number] = count
        folded = _Folded(section, groups, names)
        for group, classes in counts.items():
            found += ((group, drift) for drift in _of_group(section, classes, labels[group], group, folded))
    found.sort(key=lambda pair: (pair[0], _place(pair[1].fact), -_departing(pair[1]), pair[1].fact))
    return tuple(_without_echoes(drift for _, drift in found))


class _Folded:
    """The nodes of classes as folded names, each set of classes once."""

    def __init__(self, section: Section, groups: array[int], names: Sequence[str]) -> None:
        self._section, self._groups, self._names = section, groups, names
        self._nodes: dict[tuple[int, int], array[int]] = {}
        self._texts: dict[tuple[int, frozenset[int]], str] = {}

    def gather(self, group: int, classes: set[int]) -> None:
        """Find the nodes of some classes, in one pass over all."""
        wanted = {(group, number) for number in classes}
        self._nodes = {pair: array("I") for pair in wanted}
        for pair, node in members(self._section.of, self._groups, wanted):
            self._nodes[pair].append(node)

    def text(self, group: int, classes: Iterable[int]) -> str:
        """The nodes of some classes that were gathered."""
        key = group, frozenset(classes)
        if key not in self._texts:
            numbers = (node for number in key[1] for node in self._nodes[group, number])
            self._texts[key] = fold(self._names[node] for node in numbers)
        return self._texts[key]


def _of_group(section: Section, classes: Mapping[int, int], label: str, group: int, folded: _Folded) -> Iterator[Drift]:
    facts = list(_facts(section, classes))
    others = _other_sets(facts)
    apart = {
        number
        for fact in facts
        for value, numbers in fact.classes.items()
        if value != fact.majority
        for number in numbers
    }
    folded.gather(group, apart)
    for start, other in others.items():
        yield _environments(section, classes, start, other, label, group, folded)
    own = [
        Drift(
            hardware=label, fact=name, majority="", count=0, known=sum(classes.values()), values=values, departures=()
        )
        for name, values in section.given_up.items()
        if name != HARDWARE
    ]
    for fact in facts:
        drift = _drift(fact, classes, others.get(_start(fact.name), {}), label, group, folded)
        if drift is not None and drift.departures:
            yield drift
        elif drift is not None:
            own.append(drift)
    yield from own if len(own) <= _OWN_LISTED else [_together(own)]


def _together(own: list[Drift]) -> Drift:
    """One line for facts with values of their own on nearly every node."""
    own.sort(key=lambda one: (_place(one.fact), one.fact))
    return msgspec.structs.replace(
        own[0], fact=f"{own[0].fact} and {len(own) - 1} more facts", values=max(one.values for one in own)
    )


def _facts(section: Section, classes: Mapping[int, int]) -> Iterator[_Fact]:
    """The facts that are not the same in all classes."""
    varying = {name for number in classes for name in section.delta(number)} - {HARDWARE}
    empty = {number for number in classes if section.empty(number)} if varying else set()
    deltas = {number: section.delta(number) for number in classes if number not in empty}
    for name in varying:
        by_value: dict[str, list[int]] = defaultdict(list)
        counts: Counter[str] = Counter()
        for number, delta in deltas.items():
            value = delta[name] if name in delta else section.base.get(name, ABSENT)
            if isinstance(value, Absent) and not _start(name):
                continue  # unknown
            told = "not installed" if isinstance(value, Absent) else text(value, name)
            by_value[told].append(number)
            counts[told] += classes[number]
        if name in MEMORIES:
            _join(section, name, by_value, counts)
        if len(counts) > 1:
            majority, count = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            known = counts.total()
            yield _Fact(name, dict(by_value), counts, majority if 2 * count > known else "", known)


def _join(section: Section, name: str, by_value: dict[str, list[int]], counts: Counter[str]) -> None:
    """Put the amounts of memory that are equal but for what firmware and kernel keep to the one that most have."""
    if not counts:
        return
    usual = min(counts, key=lambda told: (-counts[told], told))
    middle = section.value(by_value[usual][0], name)
    for told in [told for told in counts if told != usual]:
        value = section.value(by_value[told][0], name)
        if (
            isinstance(middle, int | float)
            and isinstance(value, int | float)
            and abs(value - middle) <= KEPT * abs(middle)
        ):
            by_value[usual] += by_value.pop(told)
            counts[usual] += counts.pop(told)


def _other_sets(facts: list[_Fact]) -> dict[str, dict[int, int]]:
    """By interpreter, the classes with another environment, and how many packages are others in it."""
    others: dict[str, Counter[int]] = defaultdict(Counter)
    for fact in facts:
        if fact.majority and (start := _start(fact.name)):
            numbers = (n for value, each in fact.classes.items() if value != fact.majority for n in each)
            others[start].update(numbers)
    found = {start: {n: count for n, count in each.items() if count > _OTHER_SET} for start, each in others.items()}
    return {start: each for start, each in found.items() if each}


def _environments(
    section: Section,
    classes: Mapping[int, int],
    start: str,
    other: Mapping[int, int],
    label: str,
    group: int,
    folded: _Folded,
) -> Drift:
    """One line for the nodes with another environment."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, packages in other.items():
        where = f": {section.value(number, INTERPRETER)}" if start == "packages." else ""
        found[f"{packages} packages are others{where}"].append(number)
    counts = Counter({value: sum(classes[number] for number in numbers) for value, numbers in found.items()})
    known = sum(count for number, count in classes.items() if not section.empty(number))
    return Drift(
        hardware=label,
        fact=f"{start}*",
        majority="those that most have",
        count=known - counts.total(),
        known=known,
        values=len(counts) + 1,
        departures=_departures(found, counts, group, folded),
    )


def _drift(
    fact: _Fact, classes: Mapping[int, int], other: Mapping[int, int], label: str, group: int, folded: _Folded
) -> Drift | None:
    found = {value: [number for number in numbers if number not in other] for value, numbers in fact.classes.items()}
    counts = Counter({value: sum(map(classes.__getitem__, numbers)) for value, numbers in found.items() if numbers})
    count = counts.pop(fact.majority, 0)
    if not counts or (len(counts) == 1 and not fact.majority):
        return None
    own = len(fact.counts) > max(_OWN_LEAST, _OWN * fact.known)
    return Drift(
        hardware=label,
        fact=fact.name,
        majority=fact.majority,
        count=count,
        known=fact.known,
        values=len(fact.counts),
        departures=() if own else _departures(found, counts, group, folded),
    )


def _departures(
    found: Mapping[str, list[int]], counts: Counter[str], group: int, folded: _Folded
) -> tuple[Departure, ...]:
    most = sorted(counts, key=lambda value: (-counts[value], value))[:LISTED]
    return tuple(Departure(value=value, nodes=folded.text(group, found[value]), count=counts[value]) for value in most)


def _without_echoes(drifts: Iterable[Drift]) -> Iterator[Drift]:
    """Each drift, but for one that says of the same nodes the same as one before: the driver as NVML tells it."""
    told = set()
    for drift in drifts:
        key = drift.hardware, drift.majority, drift.departures
        if key not in told or not drift.departures:
            yield drift
        told.add(key)


def _start(name: str) -> str:
    """Where a fact is about a package, what stands before its name; else nothing."""
    if name.startswith("packages["):
        return name[: name.find("].") + 2]
    return "packages." if name.startswith("packages.") else ""


def _departing(drift: Drift) -> int:
    return sum(one.count for one in drift.departures)


def _place(fact: str) -> int:
    """The place of the longest beginning that fits."""
    best = max((start for start in ORDER if fact.startswith(start)), key=len)
    return ORDER.index(best)
