"""The place "environment": interpreters to pick from, their frameworks and libraries, and all facts as a tree."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, ClassVar, cast

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from gpudoctor.tui.clipboard import send
from gpudoctor.tui.environment.described import described
from gpudoctor.tui.environment.detail import EnvironmentDetail
from gpudoctor.tui.environment.facts_view import FactsView
from gpudoctor.tui.environment.interpreters import InterpreterEntry, entries
from gpudoctor.tui.environment.lines import LabeledLine
from gpudoctor.tui.environment.picker import TOOLKITS, Picker
from gpudoctor.tui.environment.toolkits import toolkits
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.header import Header
from gpudoctor.tui.session import Session, SessionSource

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor

WIDE = 120
OVERVIEW, FACTS = "environment-overview", "environment-facts"


class EnvironmentScreen(Screen[None]):
    """The screen."""

    DEFAULT_CSS = """
    #environment, #environment-overview { height: 1fr; }
    #environment-overview.wide Picker { width: 46; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "switch", "Facts/overview", tooltip="Switch between overview and facts"),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("c", "copy", "Copy", show=False),
    ]

    class Found(Message):
        """The usual places were looked at."""

        def __init__(self, found: tuple[tuple[str, str], ...]) -> None:
            super().__init__()
            self.found = found

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, str] = {}
        self._looking: Thread | None = None
        self._entries: list[InterpreterEntry] = []

    @property
    def session(self) -> Session:
        """The model."""
        return cast("Doctor", self.app).session

    def compose(self) -> ComposeResult:
        """The overview, and the facts behind it."""
        yield Header()
        with ContentSwitcher(id="environment", initial=OVERVIEW):
            with Horizontal(id=OVERVIEW):
                yield Picker()
                yield EnvironmentDetail()
            yield FactsView(FACTS)
        yield Footer()

    def on_mount(self) -> None:
        """Show what is known already."""
        cast("Doctor", self.app).changed.subscribe(self, self.refresh_from)
        self.refresh_from(self.session)
        self.query_one(Picker).focus()

    def on_screen_resume(self) -> None:
        """Look for interpreters each time that somebody comes here: they come and go."""
        if self.session.source.live and not (self._looking and self._looking.is_alive()):
            # Left behind where a dead mount holds it: a worker would be waited for at the end.
            self._looking = Thread(target=self._look, args=(self.session.source,), daemon=True)
            self._looking.start()

    def on_resize(self, event: events.Resize) -> None:
        """Give the list more room on a wide terminal."""
        self.query_one(f"#{OVERVIEW}").set_class(event.size.width >= WIDE, "wide")

    def _look(self, source: SessionSource) -> None:
        from gpudoctor.pipeline import interpreters

        try:
            found = interpreters(source.make())
        except Exception as error:  # a fault of ours must not end the thread with words on the screen
            self.log.error(error)
        else:
            self.post_message(self.Found(found))

    def on_environment_screen_found(self, message: Found) -> None:
        """List them."""
        self._found |= dict(message.found)
        self.refresh_from(self.session)

    # -- what is shown -----------------------------------------------------------------------------------------

    def refresh_from(self, session: Session) -> None:
        """Show the session as it is now."""
        facts, options = session.facts, session.source.options
        for python in facts.pythons if facts else ():
            kind = python.kind if isinstance(python.kind, str) else ""
            self._found.setdefault(python.path, {"standalone": "uv"}.get(kind, kind))
        self._entries = entries(facts, self._found.items(), options.pythons, session.running)
        self.query_one(Picker).show(self._entries)
        self.query_one(FactsView).show(facts)
        self._describe()

    def on_picker_shown(self) -> None:
        """Describe the entry under the cursor."""
        self._describe()

    def on_picker_picked(self, message: Picker.Picked) -> None:
        """Check the machine with another interpreter."""
        entry = self._entry(message.path)
        if entry is None or entry.state != "found":
            return
        session, app = self.session, cast("Doctor", self.app)
        at_first = session.source == app.first
        options = msgspec.structs.replace(session.source.options, pythons=(message.path,))
        session.source = msgspec.structs.replace(session.source, options=options)
        if at_first:  # it is the same machine, to which one may come back
            app.first = session.source
        app.action_again()

    def _entry(self, path: str) -> InterpreterEntry | None:
        return next((entry for entry in self._entries if entry.path == path), None)

    def _describe(self) -> None:
        self.query_one(EnvironmentDetail).show(self._lines(self.query_one(Picker).path))

    def _lines(self, path: str) -> list[LabeledLine]:
        session, entry = self.session, self._entry(path)
        failed = (
            [LabeledLine("", f"The checks failed: {session.error}", "fail"), LabeledLine("", "")]
            if session.error
            else []
        )
        if path == TOOLKITS and session.facts is not None:
            return failed + toolkits(session.facts)
        if entry is not None and entry.python is not None:
            return failed + described(entry.python)
        if entry is not None:
            return [*failed, LabeledLine("", entry.path, "heading"), LabeledLine("", SAYS[entry.state], "dim")]
        return [*failed, LabeledLine("", SAYS["examining"], "dim")]

    # -- keys --------------------------------------------------------------------------------------------------

    def action_switch(self) -> None:
        """To the facts, or back to the overview."""
        switcher = self.query_one(ContentSwitcher)
        facts = switcher.current != FACTS
        switcher.current = FACTS if facts else OVERVIEW
        (self.query_one(FactsView).facts_tree if facts else self.query_one(Picker)).focus()

    def action_search(self) -> None:
        """Search the facts."""
        self.query_one(ContentSwitcher).current = FACTS
        self.query_one(FactsView).action_search()

    def action_copy(self) -> None:
        """Copy what is described."""
        lines = self.query_one(EnvironmentDetail).lines
        text = "\n".join(f"{line.label}: {line.text}" if line.label else line.text for line in lines)
        send(self.app, text, "The text on the right")


SAYS = {
    "found": "This interpreter was not checked. Enter re-runs the checks with it.",
    "examining": "Checking: results appear when the probes have finished.",
    "examined": "",
}
