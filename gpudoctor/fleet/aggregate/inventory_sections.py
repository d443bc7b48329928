"""One part of all nodes' inventories: nodes of a fleet are nearly alike, so each distinct one is kept once.

A node is a number; a class is what nodes have in common who say the same. Classes are kept as what differs from the
first one. Memory is bounded: where nodes differ too much, the facts in which they differ most are given up.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterator
from itertools import islice
from operator import itemgetter

from gpudoctor.fleet.aggregate.inventory_facts import Facts, Value

# Bytes of JSON of which it is known what they mean; classes; facts by which they differ, of some hundred bytes each.
_KEPT, _CLASSES, _DIFFERENCES = 2 << 20, 4096, 50_000
# Names of facts: a second Python lies in a directory of its own on each node, and each of its packages is a fact there.
_NAMES = 3000
OTHER = "facts with other names"


class AbsentFact:
    """The value of a fact that a node does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = AbsentFact()
_Delta = tuple[tuple[str, Value | AbsentFact], ...]  # by name, so that what is equal is one class


class InventorySection:
    """The classes of one part, and which node is in which.

    Attributes:
        of: the class of each node.
        base: the facts of the class that the others are compared with.
        given_up: facts that differ on too many nodes, and how many values were seen of each.
    """

    def __init__(self) -> None:
        self.of = array("I")
        self.base: Facts = {}
        self.given_up: dict[str, int] = {}
        self._names: set[str] = set()
        self._deltas: list[_Delta] = []
        self._numbers: dict[_Delta, int] = {}
        self._differences = 0
        self._memo: dict[bytes, int] = {}
        self._kept = 0
        self._last, self._last_number = b"", -1

    def number(self, data: bytes, parse: Callable[[bytes], Facts]) -> int:
        """The class of a node that says this.

        Args:
            data: JSON.
            parse: makes facts of it, where it was not seen before.

        Raises:
            msgspec.MsgspecError: it cannot be parsed.
        """
        if data == self._last:  # comparing is many times cheaper than hashing
            return self._last_number
        number = self._memo.get(data)
        if number is None:
            number = self._class(parse(data))
            self._remember(data, number)
        self._last, self._last_number = data, number
        return number

    def classes(self) -> int:
        """How many there are."""
        return len(self._deltas)

    def delta(self, number: int) -> dict[str, Value | AbsentFact]:
        """In what a class differs from the base."""
        return dict(self._deltas[number])

    def value(self, number: int, fact: str) -> Value | AbsentFact:
        """A fact of a class."""
        return next((value for name, value in self._deltas[number] if name == fact), self.base.get(fact, ABSENT))

    def empty(self, number: int) -> bool:
        """Whether nothing is known of nodes of this class."""
        delta = self._deltas[number]
        return len(delta) == len(self.base) and all(value is ABSENT for _, value in delta)

    def slim(self) -> None:
        """Between two nodes: give up what they differ in most, where there are too many classes."""
        if len(self._deltas) > _CLASSES or self._differences > _DIFFERENCES:
            self._give_up()

    def _remember(self, data: bytes, number: int) -> None:
        self._kept += len(data) + 100
        if self._kept > _KEPT:
            self._memo.clear()
            self._kept = len(data)
        self._memo[data] = number

    def _class(self, facts: Facts) -> int:
        if new := facts.keys() - self._names:
            facts = self._few(facts, new)
        if self.given_up:
            facts = {name: value for name, value in facts.items() if name not in self.given_up}
        if not self._deltas:
            self.base = facts
        return self._known(_delta(self.base, facts))

    def _few(self, facts: Facts, new: set[str]) -> Facts:
        """The facts without those whose names are too many; the others' names are noted."""
        known = sorted(new)[: _NAMES - len(self._names)]
        self._names.update(known)
        left = new.difference(known)
        if left:
            self.given_up[OTHER] = self.given_up.get(OTHER, 0) + len(left)
        return {name: value for name, value in facts.items() if name not in left}

    def _known(self, delta: _Delta) -> int:
        number = self._numbers.setdefault(delta, len(self._deltas))
        if number == len(self._deltas):
            self._deltas.append(delta)
            self._differences += len(delta)
        return number

    def _give_up(self) -> None:
        """Leave out the facts of most values, more and more of them, until half of the room is free."""
        self._rebase()
        values = self._values()
        worst = iter(sorted(values, key=lambda fact: (-values[fact], fact)))
        step, old = 1, self._deltas
        remap = array("I", range(len(old)))
        while len(self._deltas) > _CLASSES // 2 or self._differences > _DIFFERENCES // 2:
            gone = set(islice(worst, step))
            if not gone:
                break
            self.given_up |= {fact: values[fact] for fact in gone}
            again = self._without(gone)
            remap = array("I", (again[number] for number in remap))
            step *= 2
        self.of = array("I", map(remap.__getitem__, self.of))
        self._memo.clear()
        self._kept, self._last, self._last_number = 0, b"", -1

    def _rebase(self) -> None:
        """Hold the classes against the one of most nodes: the first may have been an odd one."""
        if not self.of:
            return
        usual = Counter(self.of).most_common(1)[0][0]
        base = {**self.base, **dict(self._deltas[usual])}
        old, whole = self._deltas, self.base
        self.base = {fact: value for fact, value in base.items() if not isinstance(value, AbsentFact)}
        self._deltas, self._numbers, self._differences = [], {}, 0
        for delta in old:
            facts = {**whole, **dict(delta)}
            self._known(_delta(self.base, {k: v for k, v in facts.items() if not isinstance(v, AbsentFact)}))

    def _without(self, gone: set[str]) -> list[int]:
        """Make the classes again without some facts; gives the new number of each."""
        old, self._deltas, self._numbers, self._differences = self._deltas, [], {}, 0
        self.base = {fact: value for fact, value in self.base.items() if fact not in gone}
        return [self._known(tuple(pair for pair in delta if pair[0] not in gone)) for delta in old]

    def _values(self) -> Counter[str]:
        """How many values each fact has that is not the same everywhere."""
        pairs = {pair for delta in self._deltas for pair in delta}
        return Counter(fact for fact, _ in pairs)


def _delta(base: Facts, facts: Facts) -> _Delta:
    found: list[tuple[str, Value | AbsentFact]] = [*(facts.items() - base.items())]
    found += ((name, ABSENT) for name in base.keys() - facts.keys())
    return tuple(sorted(found, key=itemgetter(0)))


def members(
    of: array[int], groups: array[int], wanted: Container[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], int]]:
    """The nodes of some classes in some groups: ((group, class), node)."""
    for node, pair in enumerate(zip(groups, of, strict=True)):
        if pair in wanted:
            yield pair, node
