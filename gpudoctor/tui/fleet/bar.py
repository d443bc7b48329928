"""One line above the grid that says which nodes are marked, and changes it with a click; and the field to search in."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.style import Style
from textual.widgets import Input, Static

from gpudoctor.report.clean import clean
from gpudoctor.tui.diagnosis.filters import Switch
from gpudoctor.tui.diagnosis.styled import style
from gpudoctor.tui.fleet.states import look


class View(NamedTuple):
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


def switches(view: View, lit: frozenset[int] | None) -> list[Switch]:
    """What can be changed, and how many nodes are marked."""
    found = [
        Switch("/", "search", f'"{view.words}"' if view.words else "search", bool(view.words)),
        Switch("f", "state", look(view.state).words if view.state else "state", bool(view.state)),
    ]
    if lit is not None:
        found.append(Switch("n", "next(1)", f"{len(lit):,} marked", False))
    if view.narrowed:
        found.append(Switch("esc", "leave", "mark as the list says", False))
    return found


class GridBar(Static):
    """The line."""

    DEFAULT_CSS = """
    GridBar {
        height: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        link-style: none;
        link-color: $text-muted;
        link-background: transparent;
        link-color-hover: $foreground;
        link-background-hover: $surface-lighten-1;
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False, id="fleet-bar")

    def show(self, view: View, lit: frozenset[int] | None) -> None:
        """Say what is marked."""
        self.update(Content("  ").join(self._part(one) for one in switches(view, lit)))

    def _part(self, one: Switch) -> Content:
        look = style("heading warn" if one.on else "dim")
        words = Content.assemble((one.key, style("heading label")), (f" {clean(one.words)}", look))
        return words.stylize_before(Style.from_meta({"@click": f"screen.{one.action}"}))


class FleetSearch(Input):
    """Where a node is searched for; it shows itself when it is asked for."""

    DEFAULT_CSS = """
    FleetSearch {
        display: none;
        height: 1;
        border: none;
        padding: 0;
        &.-open { display: block; }
        &:focus { border: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__(placeholder="a part of a name, or node[001-016]", id="fleet-search", compact=True)

    def open(self) -> None:
        """Show it and write in it."""
        self.add_class("-open")
        self.focus()

    def close(self) -> None:
        """Empty it and hide it."""
        with self.prevent(Input.Changed):
            self.value = ""
        self.remove_class("-open")
