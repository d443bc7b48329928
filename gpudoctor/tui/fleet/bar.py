"""One line above the grid that says which nodes are marked, and changes it with a click; and the field to search in."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.report.numbers import number
from gpudoctor.tui.fleet.states import look
from gpudoctor.tui.switches import SearchField, Switch, SwitchBar


class NodeFilter(NamedTuple):
    """Which nodes somebody wants marked.

    Attributes:
        words: a part of a name, or a node set; empty: nothing is searched for.
        state: the only one; empty: each.
    """

    words: str = ""
    state: str = ""

    @property
    def narrowed(self) -> bool:
        """Whether something is asked for, beyond what is selected in the list."""
        return bool(self.words or self.state)


def switches(view: NodeFilter, lit: frozenset[int] | None) -> list[Switch]:
    """What can be changed, and how many nodes are marked."""
    found = [
        Switch("/", "search", f'"{view.words}"' if view.words else "search", bool(view.words)),
        Switch("f", "state", look(view.state).words if view.state else "state", bool(view.state)),
    ]
    if lit is not None:
        found.append(Switch("n", "next(1)", f"{number(len(lit))} marked", False))
    if view.narrowed:
        found.append(Switch("esc", "leave", "clear selection", False))
    return found


class GridBar(SwitchBar):
    """The line."""

    def __init__(self) -> None:
        super().__init__(markup=False, id="fleet-bar")

    def show(self, view: NodeFilter, lit: frozenset[int] | None) -> None:
        """Say what is marked."""
        self.tell(switches(view, lit))


class FleetSearch(SearchField):
    """Where a node is searched for."""

    def __init__(self) -> None:
        super().__init__(placeholder="part of a name, or node[001-016]", id="fleet-search", compact=True)
