"""The application: its keys, its screens, and the one worker that examines the machine."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.signal import Signal
from textual.worker import get_current_worker

from gpudoctor.examine import Event, examine, stop
from gpudoctor.tui.places import PLACES
from gpudoctor.tui.session import Session, Source


class Doctor(App[int]):
    """gpudoctor in a terminal.

    Args:
        source: what is examined.
        colour: whether colours are wanted (NO_COLOR, TERM=dumb).

    Attributes:
        session: the model that all screens show.
        changed: told whenever the session has something new; screens subscribe when they are mounted.
    """

    TITLE = "gpudoctor"
    CSS_PATH = "style.tcss"
    MODES: ClassVar[dict[str, Any]] = {place.name: place.screen for place in PLACES}
    DEFAULT_MODE = PLACES[0].name
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(place.key, f"go('{place.name}')", place.title, tooltip=place.shows) for place in PLACES),
        Binding("r", "again", "Examine again"),
        Binding("w", "save", "Save"),
        Binding("t", "theme", "Theme", show=False),
        Binding("question_mark", "help", "Keys", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, source: Source, colour: bool = True) -> None:
        super().__init__(ansi_color=not colour)
        self.session = Session(source)
        self.changed: Signal[Session] = Signal(self, "session")
        self.colour = colour

    def on_mount(self) -> None:
        """Begin to examine."""
        self.sub_title = self.session.source.title
        self.theme = "textual-dark" if self.colour else "textual-ansi"
        self.action_again()

    # -- the examination -----------------------------------------------------------------------------------

    def action_again(self) -> None:
        """Examine the machine anew; one that still runs is ended."""
        stop()
        self.session.begin()
        self.changed.publish(self.session)
        self._examine()

    @work(thread=True, exclusive=True, group="examination", exit_on_error=False)
    def _examine(self) -> None:
        """The stream of `examine`, event by event, into the session; in a thread, because each waits for children."""
        source, worker = self.session.source, get_current_worker()
        try:
            for event in examine(source.make() if source.live else None, source.wishes, source.facts):
                if worker.is_cancelled:
                    return
                self.call_from_thread(self._take, event)
        except Exception as error:
            if not worker.is_cancelled:
                self.call_from_thread(self._fail, f"{type(error).__name__}: {error}")

    def _take(self, event: Event) -> None:
        if self.session.take(event):
            self.changed.publish(self.session)

    def _fail(self, error: str) -> None:
        self.session.fail(error)
        self.changed.publish(self.session)

    # -- keys ----------------------------------------------------------------------------------------------

    def action_go(self, name: str) -> None:
        """Show a screen."""
        self.switch_mode(name)

    def action_theme(self) -> None:
        """Dark or light."""
        if self.colour:
            self.theme = "textual-light" if self.theme == "textual-dark" else "textual-dark"

    def action_help(self) -> None:
        """List the keys."""
        self.action_show_help_panel()

    def action_save(self) -> None:
        """Save the report."""
        from gpudoctor.tui.saving import SaveScreen

        self.push_screen(SaveScreen(self.session))

    async def action_quit(self) -> None:
        """End our children, then ourselves."""
        stop(final=True)
        self.exit(0)
