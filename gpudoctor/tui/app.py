"""The application: its keys, its screens, and the one worker that checks the machine."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.actions import SkipAction
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.signal import Signal
from textual.worker import Worker, get_current_worker

from gpudoctor.machine import Machine
from gpudoctor.pipeline import Event, examine
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.fleet.model import Opened
from gpudoctor.tui.screens import ALL, FLEET, PLACES
from gpudoctor.tui.session import Session, SessionSource
from gpudoctor.tui.themes import DARK, LIGHT, PLAIN, THEMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.actions import ActionParseResult
    from textual.command import Provider
    from textual.dom import DOMNode
    from textual.filter import LineFilter


def _commands() -> type[Provider]:
    """What the command palette offers; loaded when somebody opens it."""
    from gpudoctor.tui.commands import Commands

    return Commands


class Doctor(App[int]):
    """gpudoctor in a terminal.

    Args:
        source: what is checked.
        colour: whether colors are wanted (NO_COLOR, TERM=dumb).
        fleet: directories and files with the reports of many machines, which are shown first; none: the machine is.

    Attributes:
        first: what was opened at the start, with the interpreter that was picked since; somebody may look at other
            machines in between.
        session: the model that all screens show, but for the fleet's.
        fleet: the model of that.
        changed: published whenever the session has something new; screens subscribe when they are mounted.
    """

    TITLE = "gpudoctor"
    CSS_PATH = "style.tcss"
    COMMANDS = {_commands}  # noqa: RUF012 - so it is declared there
    COMMAND_PALETTE_DISPLAY = "^p"
    MODES: ClassVar[dict[str, Any]] = {place.name: place.screen for place in ALL}
    DEFAULT_MODE = PLACES[0].name
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(place.key, f"go('{place.name}')", place.title, show=False, tooltip=place.shows) for place in ALL),
        Binding("r", "again", "Re-run all", tooltip="Re-run all checks"),
        Binding("w", "save", "Save", tooltip="Save the report as JSON, Markdown, HTML or SVG"),
        Binding("t", "theme", "Theme", show=False, tooltip="Switch between dark and light"),
        Binding("question_mark", "help", "Keys", key_display="?", tooltip="Show the keys"),
        Binding("f1,h", "help", "Keys", show=False, tooltip="Show the keys"),
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
        Binding("g", "move('home')", "First", show=False),
        Binding("G", "move('end')", "Last", key_display="G", show=False),
        Binding("q", "quit", "Quit", tooltip="Quit and stop running tests"),
        Binding("ctrl+z", "suspend_process", "Suspend to the shell", show=False),
        Binding("ctrl+c", "leave", "Copy the selection, or quit", show=False, priority=True),
    ]

    def __init__(self, source: SessionSource, colour: bool = True, fleet: tuple[str, ...] = ()) -> None:
        self.colour = colour
        if os.environ.get("NO_COLOR") == "":
            del os.environ["NO_COLOR"]  # as good as unset (no-color.org), but not to textual
        if fleet:
            self.DEFAULT_MODE = FLEET.name  # type: ignore[misc]  # textual asks the instance
        super().__init__(ansi_color=not colour)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = (DARK if colour else PLAIN).name
        self.first = source
        self.session = Session(source)
        self.fleet = Opened(fleet)
        self.changed: Signal[Session] = Signal(self, "session")
        self._machine: Machine | None = None
        self._begun = False

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What is done to each line before it is drawn."""
        filters = super().get_line_filters()
        if self.colour:
            return filters
        from gpudoctor.tui.no_color import Reversed

        return [Reversed(), *filters]

    def on_mount(self) -> None:
        """Start the checks."""
        self.sub_title = self.session.source.title
        if self.is_web:
            self.theme_changed_signal.subscribe(self, lambda _: self._tell_background())
            self._tell_background()
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        if self.fleet.paths:
            return  # the machine is checked when one of its screens is opened
        self.begin()
        if self.first.samples:
            self.action_go("gpus")

    # -- the run of all checks--------------------------------------------------------------------------------

    def action_again(self) -> None:
        """Re-run all checks."""
        self.begin()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A recorded machine is not checked again."""
        return None if self.why_not(action) else super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        """Why an action is not offered now, in a sentence for the palette; empty: it is."""
        return self.session.source.recorded if action == "again" else ""

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action; of one that is not offered now a message says why, where its key was pressed all the same."""
        done = await super().run_action(action, default_namespace, namespaces)
        target, name, _ = self._parse_action(action, default_namespace or self, namespaces)
        why_not = getattr(target, "why_not", None)
        if not done and why_not and (why := why_not(name)):
            self.notify(why, severity="warning")
        return done

    def begin(self) -> None:
        """Run all checks; a run that still goes on is ended."""
        self._halt()
        self._begun = True
        source = self.session.source
        self.session.begin()
        try:
            self._machine = source.make() if source.live else None
            self._examine(source, self._machine)
        except Exception as error:  # a directory or an interpreter that was there before
            self.session.fail(str(error))
        self.changed.publish(self.session)

    def _halt(self) -> None:
        """End the run of the checks and its children, and take no late word of it; whatever else runs is left alone."""
        self.workers.cancel_group(self, "examination")
        if self._machine is not None:
            self._machine.halt()

    @work(thread=True, exclusive=True, group="examination", exit_on_error=False)
    def _examine(self, source: SessionSource, machine: Machine | None) -> None:
        """The stream of `examine`, event by event, into the session; in a thread, because each waits for children."""
        worker = get_current_worker()
        try:
            for event in examine(machine, source.options, source.facts):
                if worker.is_cancelled:
                    return
                self.call_from_thread(self._take, event, worker)
        except Exception as error:
            if not worker.is_cancelled:
                self.call_from_thread(self._fail, f"{type(error).__name__}: {error}", worker)

    def _take(self, event: Event, worker: Worker[None]) -> None:
        if not worker.is_cancelled and self.session.take(event):
            self.changed.publish(self.session)

    def _fail(self, error: str, worker: Worker[None]) -> None:
        if not worker.is_cancelled:
            self.session.fail(error)
            self.changed.publish(self.session)

    async def open(self, source: SessionSource) -> None:
        """Look at another machine: each place begins again with it."""
        self._halt()
        self.session.open(source)
        self.sub_title = source.title
        self.add_mode("between", Screen)
        await self.switch_mode("between")
        for name, screen in self.MODES.items():
            await self.remove_mode(name)
            self.add_mode(name, screen)
        await self.switch_mode("gpus" if source.samples else PLACES[0].name)
        await self.remove_mode("between")
        self.begin()

    async def open_fleet(self, fleet: Opened) -> None:
        """Look at another fleet; the machine stays as it is."""
        self.fleet = fleet
        self.add_mode("between", Screen)
        await self.switch_mode("between")
        await self.remove_mode(FLEET.name)
        self.add_mode(FLEET.name, self.MODES[FLEET.name])
        await self.switch_mode(FLEET.name)
        await self.remove_mode("between")

    def on_unmount(self) -> None:
        """Leave nothing running."""
        self._halt()

    # -- keys ----------------------------------------------------------------------------------------------

    def action_go(self, name: str) -> None:
        """Show a screen."""
        if name != FLEET.name and not self._begun:
            self.begin()
        self.switch_mode(name)

    def delay_update(self, delay: float = 0.01) -> None:
        """Show another place as soon as it is laid out; textual itself waits for 50 ms."""
        super().delay_update(delay)

    def notify(self, message: str, *, title: str = "", markup: bool = False, **more: Any) -> None:
        """Show a message for a while in place of the one before, harmless, and never taken for markup."""
        self.clear_notifications()
        super().notify(clean(message), title=clean(title), markup=markup, **more)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy, harmless: a name that is no UTF-8 could not be written to the terminal at all."""
        super().copy_to_clipboard(clean(text))

    def action_theme(self) -> None:
        """Dark or light."""
        if self.colour:
            self.theme = (LIGHT if self.theme == DARK.name else DARK).name

    def _tell_background(self) -> None:
        """Tell the page's terminal our background (OSC 11), for what is left next to the last cell."""
        if self._driver is not None:
            self._driver.write(f"\x1b]11;{self.theme_variables['background']}\x07")

    def action_help(self) -> None:
        """List the keys."""
        from gpudoctor.tui.keys import KeysScreen, groups

        place = next(place.title for place in ALL if place.name == self.current_mode)
        self.push_screen(KeysScreen(groups(self.screen.active_bindings, self, place)))

    def action_move(self, to: str) -> None:
        """The letters of vi, wherever the arrows move something; in a field they are letters."""
        self.simulate_key(to)

    def deliver(self, text: str, name: str) -> None:
        """Hand a file to the browser, which keeps it where its user is: nothing is written on this machine.

        Args:
            text: what is in it.
            name: the file's name.
        """
        self.deliver_binary(BytesIO(text.encode()), save_directory="/", save_filename=name)
        self.notify(f"{name} ({len(text) / 1000:.0f} kB)", title="Sent to the browser")

    def ask_for(self, kind: str) -> None:
        """Ask for a file to open, and open it: facts, samples, or a fleet; in a browser nothing is opened."""
        from gpudoctor.tui.open_dialog import OpenScreen

        if self.is_web:
            return

        async def opened(what: SessionSource | Opened | None) -> None:
            if isinstance(what, Opened):
                await self.open_fleet(what)
            elif what is not None:
                await self.open(what)

        self.push_screen(OpenScreen(kind, self.session.source), opened)

    def action_save(self) -> None:
        """Save the report."""
        from gpudoctor.tui.saving import SaveScreen

        self.push_screen(SaveScreen(self.session))

    def action_leave(self) -> None:
        """Ctrl-C: copy where something is selected, as in a terminal; else quit."""
        if self.screen.get_selected_text() or getattr(self.focused, "selected_text", ""):
            raise SkipAction
        self.exit(0)

    async def action_quit(self) -> None:
        """Leave."""
        self.exit(0)
