"""One line that says what the list shows, and changes it with a click."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.style import Style
from textual.widgets import Input, Static

from gpudoctor.report.clean import clean
from gpudoctor.tui.diagnosis.items import WORDS
from gpudoctor.tui.diagnosis.styled import style
from gpudoctor.tui.diagnosis.view import View


class Switch(NamedTuple):
    """A key, what it changes, how that is now, and whether this differs from the beginning."""

    key: str
    action: str
    words: str
    on: bool


def switches(view: View) -> list[Switch]:
    """What can be changed."""
    return [
        Switch("f", "status", f"status {WORDS[view.status]}" if view.status else "status", bool(view.status)),
        Switch("a", "area", f"area {view.area}" if view.area else "area", bool(view.area)),
        Switch("p", "others", "passed shown" if view.others else "passed", view.others),
        Switch("/", "search", f'"{view.text}"' if view.text else "search", bool(view.text)),
    ]


class FindingFilters(Static):
    """The line."""

    DEFAULT_CSS = """
    FindingFilters {
        height: 1;
        padding: 0 1;
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
        super().__init__(markup=False, id="filters")

    def show(self, view: View) -> None:
        """Say what is shown."""
        parts = [self._part(one) for one in switches(view)]
        if view.narrowed:
            parts.append(self._part(Switch("esc", "leave", "show all", False)))
        self.update(Content("  ").join(parts))

    def _part(self, one: Switch) -> Content:
        look = style("heading warn" if one.on else "dim")
        words = Content.assemble((one.key, style("heading label")), (f" {clean(one.words)}", look))
        return words.stylize_before(Style.from_meta({"@click": f"screen.{one.action}"}))


class FindingSearch(Input):
    """Where text is searched for; it shows itself when it is asked for."""

    DEFAULT_CSS = """
    FindingSearch {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        &.-open { display: block; }
        &:focus { border: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__(placeholder="a word of a title, a command, an id", id="search", compact=True)

    def open(self) -> None:
        """Show it and write in it."""
        self.add_class("-open")
        self.focus()

    def close(self) -> None:
        """Empty it and hide it."""
        with self.prevent(Input.Changed):
            self.value = ""
        self.remove_class("-open")
