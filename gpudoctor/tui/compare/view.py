"""A comparison with its search, its filters, and what one does with a row."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList

from gpudoctor.comparison import Comparison
from gpudoctor.tui.clipboard import send
from gpudoctor.tui.compare.full_values import Whole
from gpudoctor.tui.compare.layout import Filter, whole
from gpudoctor.tui.compare.table import DifferenceTable


class ComparisonView(Vertical):
    """The table and a search below it."""

    DEFAULT_CSS = """
    ComparisonView { height: 1fr; }
    ComparisonView > Input { margin: 0 1; display: none; }
    ComparisonView.searching > Input { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/"),
        Binding("m", "matters", "Only relevant"),
        Binding("u", "unknown", "Unknown"),
        Binding("c", "copy", "Copy"),
        Binding("escape", "leave", "Clear search", show=False),
    ]

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.comparison: Comparison | None = None
        self.wanted = Filter()

    def compose(self) -> ComposeResult:
        """The table and the search."""
        yield DifferenceTable()
        yield Input(placeholder="Search names, paths and values", compact=True)

    def show(self, comparison: Comparison) -> None:
        """Show a comparison."""
        self.comparison = comparison
        self._draw()

    def begin(self) -> None:
        """Let somebody walk through the rows."""
        self.query_one(OptionList).focus()

    def _draw(self) -> None:
        self.query_one(DifferenceTable).show(self.comparison, self.wanted)

    def action_search(self) -> None:
        """Open the search."""
        self.add_class("searching")
        self.query_one(Input).focus()

    def action_leave(self) -> None:
        """Leave the search, and show everything again."""
        self.remove_class("searching")
        self.query_one(Input).value = ""
        self.begin()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while somebody types."""
        event.stop()
        self.wanted = self.wanted._replace(words=event.value)
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """To the rows that were found; escape shows all again."""
        event.stop()
        self.begin()

    def action_matters(self) -> None:
        """Only what matters, or everything."""
        self.wanted = self.wanted._replace(all=not self.wanted.all)
        self._draw()

    def action_unknown(self) -> None:
        """With or without what is unknown on one side."""
        self.wanted = self.wanted._replace(unknown=not self.wanted.unknown)
        self._draw()

    def on_difference_table_opened(self, message: DifferenceTable.Opened) -> None:
        """Show the whole values."""
        if self.comparison is not None:
            self.app.push_screen(Whole(message.row, self.comparison.here, self.comparison.there))

    def action_copy(self) -> None:
        """Copy the row under the cursor."""
        row = self.query_one(DifferenceTable).row
        if row is not None and self.comparison is not None:
            send(self.app, whole(row, self.comparison.here, self.comparison.there), row.label)
