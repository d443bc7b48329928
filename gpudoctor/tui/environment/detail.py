"""The right side: what is known about the chosen interpreter, or about CUDA outside of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from gpudoctor.tui.environment.lines import LabeledLine, ScreenRow, laid_out

STYLES = {
    "heading": "bold",
    "dim": "$foreground-muted",
    "fail": "$text-error",
    "warn": "$text-warning",
    "pass": "$text-success",
    "": "",
}


class EnvironmentDetail(VerticalScroll):
    """Lines that are broken again when the width changes."""

    DEFAULT_CSS = """
    EnvironmentDetail {
        width: 1fr; height: 1fr; padding: 0 1; scrollbar-gutter: stable; scrollbar-size-vertical: 1;
    }
    EnvironmentDetail > Static { width: 1fr; height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: Sequence[LabeledLine] = ()
        self._drawn: tuple[Sequence[LabeledLine], int] = ((), 0)

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(markup=False)

    def show(self, lines: Sequence[LabeledLine]) -> None:
        """Show these, from the top where they are others."""
        if list(lines) != list(self.lines):
            self.lines = lines
            self.scroll_home(animate=False)
        self._draw()

    def on_resize(self, _: events.Resize) -> None:
        """Break the lines again."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0 and self._drawn != (self.lines, width):
            self._drawn = self.lines, width
            self.query_one(Static).update(content(laid_out(self.lines, width)))


def content(rows: Iterable[ScreenRow]) -> Content:
    """The rows with their styles; nothing in them is taken for markup."""
    return Content("\n").join(
        Content.assemble((row.label, "$text-primary"), (row.text, STYLES[row.style])) for row in rows
    )
