"""The nodes of a fleet by their places in the grid, and which of them a folded set means."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from gpudoctor.fleet.aggregate.nodeset_expansion import MOST, unfolded
from gpudoctor.fleet.nodesets import fold, sortable
from gpudoctor.fleet.summary import Fleet
from gpudoctor.tui.diagnosis.commands import one_line


class Nodes:
    """All nodes in natural order.

    Args:
        fleet: whose nodes they are.

    Attributes:
        names: of each node.
        states: of each node.
        widest: columns of the longest name.
    """

    def __init__(self, fleet: Fleet) -> None:
        found: dict[str, str] = {}
        for state, text in fleet.states.items():
            found.update(dict.fromkeys(unfolded(text, fleet.counts.get(state, MOST)), state))
        self.names = tuple(sorted(found, key=sortable))
        self.states = tuple(found[name] for name in self.names)
        self.widest = max((cell_len(one_line(name)) for name in self.names), default=0)
        self._at = {name: number for number, name in enumerate(self.names)}
        self._sets: dict[str, frozenset[int]] = {}

    def of(self, text: str, count: int = MOST) -> frozenset[int]:
        """The places of the nodes that a folded set means; of those that are none of the fleet there is none.

        Args:
            text: the set.
            count: how many nodes it has.
        """
        found = self._sets.get(text)
        if found is None:
            found = self._sets[text] = self.places([text]) or self.places(unfolded(text, count))
        return found

    def places(self, names: Iterable[str]) -> frozenset[int]:
        """The places of some nodes."""
        return frozenset(self._at[name] for name in names if name in self._at)

    def folded(self, places: Iterable[int]) -> str:
        """The names of the nodes at these places as one short text."""
        return fold(self.names[place] for place in sorted(places))

    def place(self, name: str) -> int | None:
        """The place of a node; None: there is none of that name."""
        return self._at.get(name)

    def found(self, words: str) -> frozenset[int]:
        """The nodes that somebody looks for: by a part of the name, or by a node set such as node[001-016]."""
        words = words.strip()
        if not words:
            return frozenset()
        part = words.casefold()
        named = frozenset(at for at, name in enumerate(self.names) if part in name.casefold())
        return named or self.places(unfolded(words))
