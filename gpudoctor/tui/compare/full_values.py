"""The whole values of one difference."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from gpudoctor.comparison import Difference
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.clipboard import send
from gpudoctor.tui.compare.layout import ABSENT, more, named, whole


class Whole(ModalScreen[None]):
    """Label, here and there, one below the other.

    Args:
        row: what differs.
        here, there: what the sides are called.
    """

    DEFAULT_CSS = """
    Whole { align: center middle; }
    Whole > VerticalScroll {
        width: 90%; max-width: 120; height: auto; max-height: 80%; padding: 1 2;
        background: $surface; border: round $primary; border-subtitle-color: $text-muted;
    }
    Whole Static { width: 1fr; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "dismiss(None)", "Close"),
        Binding("c", "copy", "Copy"),
    ]

    def __init__(self, row: Difference, here: str, there: str) -> None:
        super().__init__()
        self.row, self.here, self.there = row, here, there

    def compose(self) -> ComposeResult:
        """The values."""
        with VerticalScroll() as box:
            box.border_subtitle = "c copies, Esc closes"
            yield Static(self._content(), markup=False)

    def _content(self) -> Content:
        row = self.row
        return Content.assemble(
            (named(row), "bold"),
            f"\n{row.state.value.replace(' A', f' {clean(self.here)}').replace(' B', f' {clean(self.there)}')}\n\n",
            (clean(self.here), "bold $text-primary"),
            f"\n{row.here or ABSENT}\n\n",
            (clean(self.there), "bold $text-primary"),
            f"\n{row.there or ABSENT}{more(row)}",
        )

    def action_copy(self) -> None:
        """Copy all of it."""
        send(self.app, whole(self.row, self.here, self.there), self.row.label)
