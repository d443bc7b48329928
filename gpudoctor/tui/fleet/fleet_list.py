"""The list of what is said of a fleet, under its headings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from gpudoctor.fleet.summary import Fleet
from gpudoctor.tui.diagnosis.commands import one_line
from gpudoctor.tui.diagnosis.lines import LIST_INDENT, folded
from gpudoctor.tui.diagnosis.styled import styled
from gpudoctor.tui.fleet.entries import FleetEntry, heading
from gpudoctor.tui.row_list import RowList


class FleetList(RowList):
    """Causes first, worst first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Details", show=False, tooltip="Open details"),
        Binding("right", "grid", "Nodes", show=False, tooltip="Show its nodes in the grid"),
    ]

    class Chosen(Message):
        """Another line is selected."""

    class Opened(Message):
        """Somebody wants to read on."""

    class ToGrid(Message):
        """Somebody wants to see the nodes."""

    def __init__(self) -> None:
        super().__init__(id="fleet-list", markup=False)
        self._fleet = Fleet()
        self._rows: list[FleetEntry | None] = []
        self._entries: Sequence[FleetEntry] = ()
        self._width = 0

    @property
    def entry(self) -> FleetEntry | None:
        """What is selected."""
        at = self.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def show(self, fleet: Fleet, entries: Sequence[FleetEntry]) -> None:
        """Show these lines; what was selected stays so where it is still there."""
        kept, self._fleet, self._entries, self._width = self.entry, fleet, entries, self.width
        self._rows, options = [], []
        for group, found in groupby(entries, key=lambda entry: entry.group):
            some = list(found)
            options.append(Option(Content.styled(one_line(heading(group, some, fleet)), "bold"), disabled=True))
            options += [Option(self._content(entry)) for entry in some]
            self._rows += [None, *some]
        places = [place for place, row in enumerate(self._rows) if row is not None]
        same = [place for place in places if kept is not None and self._rows[place] == kept]
        like = [place for place in places if kept is not None and getattr(self._rows[place], "key", "") == kept.key]
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(options)
            self.highlighted = next(iter(same or like or places), None)

    def _content(self, entry: FleetEntry) -> Content:
        room = self._width - LIST_INDENT
        parts = folded(entry.title, room)
        lines = [
            styled([(f"{one_line(entry.label)[:7]:<{LIST_INDENT}}", f"heading {entry.style}"), (parts[0], "heading")])
        ]
        lines += [styled([(" " * LIST_INDENT + part, "heading")]) for part in parts[1:3]]
        below = one_line(entry.below)
        if below:
            short = below if len(below) <= room else below[: room - 1] + "…"
            lines.append(styled([(" " * LIST_INDENT + short, "dim")]))
        return Content("\n").join(lines)

    def on_resize(self) -> None:
        """Lines are broken again."""
        if self._entries and self._width != self.width:
            self.show(self._fleet, self._entries)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell the screen."""
        event.stop()
        self.post_message(self.Chosen())

    def action_open(self) -> None:
        """Read on."""
        self.post_message(self.Opened())

    def action_grid(self) -> None:
        """To the nodes."""
        self.post_message(self.ToGrid())
