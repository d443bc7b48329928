"""A line of keys and what each changes, to read and to click; and a field to search in, which hides itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.content import Content
from textual.style import Style
from textual.widgets import Input, Static

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.diagnosis.styled import style


class Switch(NamedTuple):
    """A key, what it changes, how that is now, and whether this differs from the beginning."""

    key: str
    action: str
    words: str
    on: bool


class SwitchBar(Static):
    """The line."""

    DEFAULT_CSS = """
    SwitchBar {
        height: auto;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        link-style: none;
        link-color: $text-muted;
        link-background: transparent;
        link-color-hover: $foreground;
        link-background-hover: $surface-lighten-1;
    }
    """

    _switches: tuple[Switch, ...] = ()

    def tell(self, switches: Iterable[Switch]) -> None:
        """Show these, in as many lines as they need."""
        self._switches = tuple(switches)
        width = self.content_size.width or 80
        lines: list[list[Content]] = [[]]
        for part in map(_part, self._switches):
            if lines[-1] and sum(one.cell_length + 2 for one in lines[-1]) + part.cell_length > width:
                lines.append([])
            lines[-1].append(part)
        self.update(Content("\n").join(Content("  ").join(line) for line in lines))

    def on_resize(self) -> None:
        """The lines are broken again."""
        self.tell(self._switches)


def _part(one: Switch) -> Content:
    look = style("heading warn" if one.on else "dim")
    words = Content.assemble((one.key, style("heading label")), (f" {clean(one.words)}", look))
    return words.stylize_before(Style.from_meta({"@click": f"screen.{one.action}"}))


class SearchField(Input):
    """Where something is searched for; it shows itself when it is asked for."""

    DEFAULT_CSS = """
    SearchField {
        display: none;
        height: 1;
        border: none;
        padding: 0;
        &:focus { border: none; }
    }
    """

    def open(self) -> None:
        """Show it and write in it, from the next key on."""
        self.display = True
        self.screen.set_focus(self)

    def close(self) -> None:
        """Empty it and hide it."""
        with self.prevent(Input.Changed):
            self.value = ""
        self.display = False
