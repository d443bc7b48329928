"""What most nodes of a group have: what a later summary is compared with."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gpudoctor.fleet.aggregate.inventory_facts import HARDWARE, Value, text
from gpudoctor.fleet.aggregate.inventory_sections import ABSENT, AbsentFact, InventorySection


def agreed(sections: Iterable[InventorySection], groups: array[int]) -> dict[int, dict[str, str]]:
    """By group, the value of each fact that more than half of those nodes have of whom it is known.

    Args:
        sections: the parts of the inventories.
        groups: the number of each node's group.
    """
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for section in sections:
        classes: dict[int, dict[int, int]] = defaultdict(dict)
        for (group, number), count in Counter(zip(groups, section.of, strict=True)).items():
            classes[group][number] = count
        for group, counts in classes.items():
            found[group] |= _of_group(section, counts)
    return found


def _of_group(section: InventorySection, counts: Mapping[int, int]) -> dict[str, str]:
    """In one pass over what differs: whatever a class does not name is as in the base."""
    others: dict[str, Counter[Value | AbsentFact]] = defaultdict(Counter)
    for number, count in counts.items():
        for fact, value in section.delta(number).items():
            others[fact][value] += count
    every = sum(counts.values())
    found = {}
    for fact in (section.base.keys() | others.keys()) - {HARDWARE}:
        values: Counter[Value | AbsentFact] = others.get(fact, Counter())
        values[section.base.get(fact, ABSENT)] += every - values.total()
        if not fact.startswith("packages"):  # a package that is not there is known not to be
            values.pop(ABSENT, None)
        (value, count), *_ = values.most_common(1) or [(ABSENT, 0)]
        if not isinstance(value, AbsentFact) and 2 * count > values.total():
            found[fact] = text(value, fact)
    return dict(sorted(found.items()))
