"""The results as they come: a card for each backend on each device."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from gpudoctor.report.cpu_gpu_model import CpuGpuEntry
from gpudoctor.report.model import SmokeEntry
from gpudoctor.tui.smoke.lines import Line, table

STYLES = {
    "": "",
    "heading": "bold",
    "dim": "$foreground-muted",
    "bar": "$primary",
    "track": "$foreground 20%",
    "fail": "$text-error bold",
    "warn": "$text-warning",
    "pass": "$text-success",
    "cpu": "$text-warning",
    "gpu": "$primary",
    "copied": "$text-success",
}


def content(lines: Sequence[Line]) -> Content:
    """Lines of pieces as Textual draws them."""
    return Content("\n").join(
        Content.assemble(*(text if not look else (text, STYLES[look]) for text, look in line)) for line in lines
    )


class SmokeResults(VerticalScroll):
    """The cards, scrolled along while somebody looks at the newest."""

    DEFAULT_CSS = """
    SmokeResults {
        scrollbar-gutter: stable; scrollbar-size-vertical: 1; padding: 0 1;
        & > Static { margin-bottom: 1; }
        & > #nothing { color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="smoke-results")
        self._entries: list[SmokeEntry | CpuGpuEntry] = []
        self._cards: list[Static] = []
        self._nothing = Static(id="nothing", markup=False)

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield self._nothing

    def show(self, entries: Sequence[SmokeEntry | CpuGpuEntry], nothing: str = "", along: bool = False) -> None:
        """Show results.

        Args:
            entries: one for each backend on each device, and the comparisons of devices.
            nothing: is said where there are none.
            along: scroll along with the newest, where nobody has scrolled back.
        """
        last = along and self.is_vertical_scroll_end
        self._nothing.update(nothing)
        self._nothing.display = not entries
        changed = [place for place, entry in enumerate(entries) if self._differs(place, entry)]
        self._entries = list(entries)
        for card in self._cards[len(entries) :]:
            card.remove()
        del self._cards[len(entries) :]
        for place in changed:
            if place < len(self._cards):
                self._cards[place].update(self._drawn(place))
            else:
                self._cards.append(Static(self._drawn(place)))
                self.mount(self._cards[-1])
        if changed and last:
            self.scroll_end(animate=False)

    def _differs(self, place: int, entry: SmokeEntry | CpuGpuEntry) -> bool:
        return place >= len(self._entries) or self._entries[place] != entry

    def _drawn(self, place: int) -> Content:
        entry, width = self._entries[place], self.scrollable_content_region.width
        if isinstance(entry, SmokeEntry):
            return content(table(entry, width))
        from gpudoctor.tui.smoke.compared import compared

        return content(compared(entry, width))

    def on_resize(self) -> None:
        """Lay the lines out again."""
        for place, card in enumerate(self._cards):
            card.update(self._drawn(place))
