"""The place "gpus": each GPU's load, memory, heat, clocks and links over time, and who uses it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Static

from gpudoctor.monitor.snapshot import Snapshot, Watched
from gpudoctor.tui.clipboard import send
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.gpus.chart import BLOCKS, DOTS
from gpudoctor.tui.gpus.detail import GpuDetail
from gpudoctor.tui.gpus.empty import nothing
from gpudoctor.tui.gpus.notes import note, span, summary
from gpudoctor.tui.gpus.overview import GpuRows, Overview
from gpudoctor.tui.gpus.sources import source_of
from gpudoctor.tui.header import Header
from gpudoctor.tui.session import Session

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor

PERIOD = 0.5  # seconds between two looks; samples come once a second
STEPS = (1.0, 2.0, 5.0, 15.0)  # seconds that one value of a chart stands for


class GpusScreen(Screen[None]):
    """The screen."""

    AUTO_FOCUS = "#gpus-empty"
    DEFAULT_CSS = """
    GpusScreen {
        #gpus-note { height: auto; max-height: 3; padding: 0 1; text-overflow: ellipsis; }
        #gpus { height: 1fr; }
        #gpus-empty { padding: 1 2; }
        #gpus Overview, #gpus GpuDetail, #gpus #gpus-empty { height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "All GPUs", tooltip="Back to the table of all GPUs"),
        Binding("right_square_bracket", "next(1)", "Next GPU", key_display="]", tooltip="Next GPU, previous GPU"),
        Binding("left_square_bracket", "next(-1)", "Previous GPU", key_display="[", show=False,
                tooltip="Next GPU, previous GPU"),
        Binding("plus,equals_sign", "zoom(1)", "Longer", key_display="+", tooltip="Longer or shorter time span"),
        Binding("minus", "zoom(-1)", "Shorter", key_display="-", tooltip="Longer or shorter time span", show=False),
        Binding("b", "glyphs", "Dots or blocks", tooltip="Draw charts with dots or blocks", show=False),
        Binding("c", "copy", "Copy", tooltip="Copy the current values"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._look = Snapshot(kind="live", waiting=True)
        self._opened: str | None = None
        self._seen: object = None
        self._zoom = 0
        self._glyphs = BLOCKS if os.environ.get("TERM") == "linux" else DOTS  # the console's font has no braille

    @property
    def doctor(self) -> Doctor:
        """The application."""
        return cast("Doctor", self.app)

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Header()
        yield Static("", id="gpus-note", markup=False)
        with ContentSwitcher(id="gpus", initial="gpus-empty"):
            with VerticalScroll(id="gpus-empty"):
                yield Static("", id="gpus-nothing", markup=False)
            yield Overview(id="gpus-overview")
            yield GpuDetail(id="gpus-detail")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        self._source = source_of(self.doctor.session)
        self._source.start()
        self._timer = self.set_interval(PERIOD, self.look)
        self.doctor.changed.subscribe(self, self._changed)

    def on_unmount(self) -> None:
        """End what asks the drivers."""
        self._source.stop()

    def on_screen_suspend(self) -> None:
        """Ask nothing while another place is shown; a dialog above this one hides nothing."""
        if self not in self.app.screen_stack:
            self._source.stop()
            self._timer.pause()

    def on_screen_resume(self) -> None:
        """Go on."""
        self._source.start()
        self._timer.resume()
        self._seen = None
        self.look()

    def on_resize(self) -> None:
        """Draw again when all widgets have their sizes."""
        self.call_after_refresh(self.draw)

    def _changed(self, _: Session) -> None:
        if not self._look.devices:
            self.draw()

    # -- what is shown -------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Ask the source what there is, and show it where there is something new."""
        self._look = self._source.look()
        new = _newest(self._look)
        if new != self._seen:
            self._seen = new
            self.draw()

    @property
    def _shown(self) -> Watched | None:
        """The GPU whose detail is shown; of one GPU it is always that one's."""
        gpus = self._look.devices
        if len(gpus) == 1:
            return gpus[0]
        return next((gpu for gpu in gpus if gpu.key == self._opened), None)

    def draw(self) -> None:
        """Show what the source said last."""
        if not self.size.width:  # before the first layout
            return
        look, gpu = self._look, self._shown
        self._switch("gpus-detail" if gpu else "gpus-overview" if look.devices else "gpus-empty")
        notes = note(look)
        self.query_one("#gpus-note", Static).update(Content("\n").join(notes))
        self.query_one("#gpus-note").display = bool(notes)
        step = STEPS[self._zoom]
        if gpu:
            detail = self.query_one(GpuDetail)
            detail.show(gpu, look, step, self._glyphs, span(look, step, self._glyphs, self.size.width // 3 - 2))
        elif look.devices:
            self.query_one(Overview).show(look, step, self._glyphs)
        else:
            lines = nothing(look, self.doctor.session.facts)
            self.query_one("#gpus-nothing", Static).update(Content("\n").join(lines))

    def _switch(self, name: str) -> None:
        switcher = self.query_one("#gpus", ContentSwitcher)
        if switcher.current != name:
            switcher.current = name
            self.refresh_bindings()
            self.call_after_refresh(self._settle, name)

    def _settle(self, name: str) -> None:
        """Give the keys to what is shown, and draw it in the size that it has got."""
        if name == "gpus-overview":
            self.query_one(GpuRows).focus()
        elif name == "gpus-detail":
            self.query_one("#gpus-detail Processes").focus()
        self.draw()

    # -- keys ----------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Going back and to the next GPU is offered where one of several is shown; without a GPU nothing is."""
        if action in ("back", "next"):
            return self._opened is not None and len(self._look.devices) > 1
        if action in ("zoom", "glyphs", "copy"):
            return bool(self._look.devices)
        return super().check_action(action, parameters)

    @on(Overview.Opened)
    def _open(self, event: Overview.Opened) -> None:
        self._opened = event.key
        self.draw()
        self.refresh_bindings()

    def action_back(self) -> None:
        """Show all GPUs."""
        self._opened = None
        self.draw()

    def action_next(self, by: int) -> None:
        """Show the next GPU, or the one before."""
        keys = [gpu.key for gpu in self._look.devices]
        if self._opened in keys:
            self._opened = keys[(keys.index(self._opened) + by) % len(keys)]
            self.draw()

    def action_zoom(self, by: int) -> None:
        """Show a longer or a shorter time."""
        self._zoom = max(0, min(len(STEPS) - 1, self._zoom + by))
        self.draw()

    def action_glyphs(self) -> None:
        """Draw with dots or with blocks."""
        self._glyphs = BLOCKS if self._glyphs is DOTS else DOTS
        self.draw()

    def action_copy(self) -> None:
        """Copy what the GPUs say now."""
        gpu = self._shown
        text = summary((gpu,) if gpu else self._look.devices)
        if text:
            send(self.app, text, "The current values")


def _newest(look: Snapshot) -> object:
    """What changes whenever there is something new to draw: charts move on each second, samples or not."""
    last = [(gpu.key, gpu.device, gpu.processes, gpu.refused, gpu.last and gpu.last.at) for gpu in look.devices]
    return int(look.now), last, look.troubles, look.waiting, look.absent
