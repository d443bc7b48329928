"""Reads a fleet in a thread, and turns what it tells into messages; it is never drawn."""

from __future__ import annotations

from threading import Event

from textual.message import Message
from textual.widget import Widget

from gpudoctor.tui.compare.background import aside
from gpudoctor.tui.fleet.model import Opened
from gpudoctor.tui.fleet.reading import Read, fault, read


class EndedError(Exception):
    """Nobody waits for the reading any more."""


class FleetReader(Widget):
    """One reading at a time: a newer one ends the one before."""

    DEFAULT_CSS = "FleetReader { display: none; }"

    class Moved(Message):
        """More reports were read."""

    class Ended(Message):
        """The fleet was read, or cannot be."""

    class ReadProgress(Message):
        """What the thread tells: so many reports were read; with a result, that it has ended."""

        def __init__(self, halted: Event, done: int, result: Read | str | None = None) -> None:
            super().__init__()
            self.halted, self.done, self.result = halted, done, result

    def __init__(self) -> None:
        super().__init__()
        self._halted, self._opened = Event(), Opened()

    def begin(self, opened: Opened) -> None:
        """Read a fleet, again where it was read before."""
        self._halted.set()
        if not opened.paths:
            return
        self._opened, halted = opened, Event()
        self._halted = halted
        opened.running, opened.error, opened.done = True, "", 0

        def tell(done: int) -> None:
            if halted.is_set():
                raise EndedError
            self.post_message(self.ReadProgress(halted, done))

        def work() -> Message:
            try:
                return self.ReadProgress(halted, 0, read(opened.paths, tell))
            except EndedError:
                return self.ReadProgress(halted, 0)
            except Exception as error:
                return self.ReadProgress(halted, 0, fault(error))

        aside(self, work)
        self.post_message(self.Moved())

    def on_unmount(self) -> None:
        """Nobody waits for it any more."""
        self._halted.set()
        self._opened.running = False

    def on_fleet_reader_read_progress(self, message: ReadProgress) -> None:
        """Take note, unless another reading has begun, and tell the screen."""
        message.stop()
        if message.halted is not self._halted or message.halted.is_set():
            return
        if message.result is None:
            self._opened.done = message.done
            self.post_message(self.Moved())
            return
        if isinstance(message.result, str):
            self._opened.fail(message.result)
        else:
            self._opened.take(*message.result)
        self.post_message(self.Ended())
