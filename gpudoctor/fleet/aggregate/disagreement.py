"""The facts on which nodes of one group do not agree: which classes have which value, and what most have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpudoctor.comparison.rules import KEPT
from gpudoctor.fleet.aggregate.inventory_facts import HARDWARE, MEMORIES, text
from gpudoctor.fleet.aggregate.inventory_sections import ABSENT, AbsentFact, InventorySection

# A node in which more packages than this are others has another environment: told in one line.
_OTHER_SET = 20


class Fact(NamedTuple):
    """A fact in one group: which classes have which value."""

    name: str
    classes: dict[str, list[int]]
    counts: Counter[str]
    majority: str
    known: int


def disputed(section: InventorySection, classes: Mapping[int, int]) -> Iterator[Fact]:
    """The facts that are not the same in all classes."""
    varying = {name for number in classes for name in section.delta(number)} - {HARDWARE}
    empty = {number for number in classes if section.empty(number)} if varying else set()
    deltas = {number: section.delta(number) for number in classes if number not in empty}
    for name in varying:
        by_value: dict[str, list[int]] = defaultdict(list)
        counts: Counter[str] = Counter()
        for number, delta in deltas.items():
            value = delta[name] if name in delta else section.base.get(name, ABSENT)
            if isinstance(value, AbsentFact) and not package_of(name):
                continue  # unknown
            reported = "not installed" if isinstance(value, AbsentFact) else text(value, name)
            by_value[reported].append(number)
            counts[reported] += classes[number]
        if name in MEMORIES:
            _join(section, name, by_value, counts)
        if len(counts) > 1:
            majority, count = min(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            known = counts.total()
            yield Fact(name, dict(by_value), counts, majority if 2 * count > known else "", known)


def _join(section: InventorySection, name: str, by_value: dict[str, list[int]], counts: Counter[str]) -> None:
    """Put the amounts of memory that are equal but for what firmware and kernel keep to the one that most have."""
    if not counts:
        return
    usual = min(counts, key=lambda reported: (-counts[reported], reported))
    middle = section.value(by_value[usual][0], name)
    for reported in [reported for reported in counts if reported != usual]:
        value = section.value(by_value[reported][0], name)
        if (
            isinstance(middle, int | float)
            and isinstance(value, int | float)
            and abs(value - middle) <= KEPT * abs(middle)
        ):
            by_value[usual] += by_value.pop(reported)
            counts[usual] += counts.pop(reported)


def other_sets(facts: list[Fact]) -> dict[str, dict[int, int]]:
    """By interpreter, the classes with another environment, and how many packages are others in it."""
    others: dict[str, Counter[int]] = defaultdict(Counter)
    for fact in facts:
        if fact.majority and (start := package_of(fact.name)):
            numbers = (n for value, each in fact.classes.items() if value != fact.majority for n in each)
            others[start].update(numbers)
    found = {start: {n: count for n, count in each.items() if count > _OTHER_SET} for start, each in others.items()}
    return {start: each for start, each in found.items() if each}


def package_of(name: str) -> str:
    """Where a fact is about a package, what stands before its name; else nothing."""
    if name.startswith("packages["):
        return name[: name.find("].") + 2]
    return "packages." if name.startswith("packages.") else ""
