"""The differences as a table of label, here and there."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gpudoctor.comparison import Comparison, Difference, DifferenceGroup, DifferenceState
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.compare.layout import GAP, Columns, Filter, cells, columns, grouped, summary

MUTED, OPEN = "dim", "dim italic"  # no colors: the cursor has its own, on which they could not be read


class DifferenceTable(Vertical):
    """The rows, broken again when the width changes."""

    DEFAULT_CSS = """
    DifferenceTable { height: 1fr; padding: 0 1; }
    DifferenceTable > Static { height: 1; text-wrap: nowrap; }
    DifferenceTable > #compare-summary { height: auto; text-wrap: wrap; color: $text-muted; }
    DifferenceTable > #compare-titles { text-style: bold; background: $surface; }
    DifferenceTable > OptionList { height: 1fr; background: $background; scrollbar-size-vertical: 1; }
    """

    class Opened(Message):
        """Somebody wants to see the whole values of a row."""

        def __init__(self, row: Difference) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__()
        self.comparison: Comparison | None = None
        self.wanted = Filter()
        self._rows: list[Difference | None] = []

    def compose(self) -> ComposeResult:
        """What came of it, the columns' titles, and the rows."""
        yield Static(markup=False, id="compare-summary")
        yield Static(markup=False, id="compare-titles")
        yield OptionList(compact=True)

    @property
    def row(self) -> Difference | None:
        """The row under the cursor."""
        at = self.query_one(OptionList).highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def show(self, comparison: Comparison | None, wanted: Filter) -> None:
        """Show a comparison, or more or less of it."""
        self.comparison, self.wanted = comparison, wanted
        self._draw()

    def on_resize(self, _: events.Resize) -> None:
        """Break the rows again."""
        self._draw()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell which row's values are wanted."""
        event.stop()
        row = self._rows[event.option_index]
        if row is not None:
            self.post_message(self.Opened(row))

    def _draw(self) -> None:
        if self.comparison is None or self.size.width < 20:
            return
        rows, before = self.query_one(OptionList), self.row
        groups = grouped(self.comparison.rows, self.wanted)
        wide = columns([row for _, some in groups for row in some], self.size.width - 1)
        self._rows, options = [], []
        for title, some in groups:
            options += [Option(Content.styled(title, "bold $text-primary"), disabled=True)]
            options += [Option(_content(row, wide)) for row in some]
            self._rows += [None, *some]
        rows.set_options(options)
        rows.highlighted = self._rows.index(before) if before in self._rows and before else 1 if options else None
        self.query_one("#compare-summary", Static).update(summary(self.comparison, self.wanted))
        self.query_one("#compare-titles", Static).update(_titles(self.comparison, wide))


def _titles(comparison: Comparison, wide: Columns) -> str:
    title = Difference(path="differs", group=DifferenceGroup.REST, here=comparison.here, there=comparison.there)
    return (" " * GAP).join(clean(cell) for cell in cells(title, wide))


def _content(row: Difference, wide: Columns) -> Content:
    """A row; what is unknown or absent looks so next to saying so."""
    label, here, there = cells(row, wide)
    unknown = {DifferenceState.UNKNOWN_HERE: "here", DifferenceState.UNKNOWN_THERE: "there"}.get(row.state)
    return Content.assemble(
        label,
        " " * GAP,
        (here, OPEN if unknown == "here" else "" if row.here else MUTED),
        " " * GAP,
        (there, OPEN if unknown == "there" else "" if row.there else MUTED),
    )
