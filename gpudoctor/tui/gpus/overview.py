"""All GPUs in a table, the charts of the one that the cursor is on, and everybody's processes."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gpudoctor.monitor.snapshot import STILL, Snapshot
from gpudoctor.tui.gpus.chart import Glyphs
from gpudoctor.tui.gpus.plot import Plot
from gpudoctor.tui.gpus.processes import Processes
from gpudoctor.tui.gpus.table import BY_KEY, heading, row

PREVIEWED = ("utilization", "power", "pcie")
NARROWEST = 10  # columns
TALLEST = 4  # lines of a row
SHARE = 0.45  # of the height, for the rows


class GpuRows(OptionList):
    """The rows; the cursor chooses a GPU."""

    DEFAULT_CSS = """
    GpuRows {
        height: auto; max-height: 60%; padding: 0 1; border: none; background: $background; scrollbar-size-vertical: 1;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; background: $background; background-tint: $foreground 0%; }
        & > .option-list--option { padding: 0; }
        & > .option-list--option-highlighted { background: $surface; color: $foreground; text-style: bold; }
        &:focus > .option-list--option-highlighted { background: $panel; color: $foreground; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Open", tooltip="Show all charts of the GPU")]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As any list's; one that has shrunk to nothing cannot be wrapped."""
        return super().get_content_height(container, viewport, max(width, NARROWEST))


class Overview(Vertical):
    """The table of many GPUs."""

    DEFAULT_CSS = """
    Overview {
        #overview-heading { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; }
        #overview-charts { height: 1fr; padding: 0 1; }
        #overview-charts Plot { margin-right: 2; }
        #overview-charts Plot:last-child { margin-right: 0; }
        Processes { max-height: 30%; }
    }
    """

    class Opened(Message):
        """A GPU was chosen, by its key."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    _shown: tuple[Snapshot, float, Glyphs] | None = None

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Static("", id="overview-heading", markup=False)
        yield GpuRows(id="overview-rows", markup=False)
        with Horizontal(id="overview-charts"):
            for at, key in enumerate(PREVIEWED):
                yield Plot(BY_KEY[key], named=at == 0)
        yield Processes()

    @property
    def chosen(self) -> str | None:
        """The key of the GPU that the cursor is on."""
        option = self.query_one(GpuRows).highlighted_option
        return option.id if option else None

    def show(self, look: Snapshot, step: float, glyphs: Glyphs) -> None:
        """Show all GPUs."""
        listed = self.query_one(GpuRows)
        width = self.size.width - 2
        tallest = 1 if look.kind == STILL else TALLEST
        height = max(1, min(tallest, int(self.size.height * SHARE) // max(1, len(look.devices))))
        self.query_one("#overview-heading", Static).update(
            heading(width, 0.0 if look.kind == STILL else glyphs.across * step)
        )
        chosen = self.chosen or next((gpu.key for gpu in look.devices), None)
        rows = {gpu.key: row(gpu, look, width, height, step, glyphs, chosen=gpu.key == chosen) for gpu in look.devices}
        if [option.id for option in listed.options] == list(rows):
            for at, content in enumerate(rows.values()):
                listed.replace_option_prompt_at_index(at, content)
        else:
            listed.set_options(Option(content, id=key) for key, content in rows.items())
            listed.highlighted = list(rows).index(chosen) if chosen in rows else None
        self.query_one(Processes).show(look.devices)
        self._shown = look, step, glyphs
        self._preview(look, step, glyphs)

    @on(OptionList.OptionHighlighted)
    def _move(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._again()

    def on_resize(self) -> None:
        """The rows are as wide as there is room."""
        self._again()

    def _again(self) -> None:
        if self._shown:
            self.show(*self._shown)

    def _preview(self, look: Snapshot, step: float, glyphs: Glyphs) -> None:
        gpu = next((gpu for gpu in look.devices if gpu.key == self.chosen), None)
        for plot in self.query(Plot):
            if gpu:
                plot.show(gpu, look, step, glyphs)

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_id:
            self.post_message(self.Opened(event.option_id))
