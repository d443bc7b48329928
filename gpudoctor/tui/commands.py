"""What the command palette offers: the places, the keys that work everywhere, and other machines to open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from gpudoctor.demo import DEMOS, load
from gpudoctor.tui.screens import ALL
from gpudoctor.tui.session import SessionSource

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor


class PaletteEntry(NamedTuple):
    """One command: its name, a sentence, and what it does."""

    name: str
    message: str
    run: Callable[[], Awaitable[object] | object]


class Commands(Provider):
    """Finds commands by their names."""

    @property
    def doctor(self) -> Doctor:
        """The application."""
        return cast("Doctor", self.app)

    def entries(self) -> Iterator[PaletteEntry]:
        """All commands, in the order in which they are shown to somebody who has typed nothing."""
        app = self.doctor
        for place in ALL:
            yield PaletteEntry(f"Go to {place.title}", place.shows, partial(app.action_go, place.name))
        yield PaletteEntry("Re-run checks", "Re-run all checks and refresh the screens", app.action_again)
        yield PaletteEntry("Save report", "As JSON, Markdown, HTML or SVG", app.action_save)
        if hasattr(self.screen, "action_copy"):
            yield PaletteEntry("Copy", "Copy the selection to the clipboard", partial(app.run_action, "screen.copy"))
        yield PaletteEntry("Keys", "Show the keys of this screen (help)", app.action_help)
        if app.colour:
            yield PaletteEntry("Switch theme", "Dark or light colors", app.action_theme)
        if not app.is_web:  # who looks on in a browser opens no files of this machine
            yield from self._files()
        for name, message in DEMOS.items():
            yield PaletteEntry(f"Open the demo {name}", message, partial(self._demo, name))
        if app.session.source != app.first:
            yield PaletteEntry(
                f"Back to {app.first.title}", "Close the demo or the recorded machine", partial(app.open, app.first)
            )
        yield PaletteEntry("Quit", "Quit and stop running tests", app.action_quit)

    def _files(self) -> Iterator[PaletteEntry]:
        """What asks for a file."""
        ask = self.doctor.ask_for
        yield PaletteEntry("Open a facts file", "Load a machine recorded by `gpudoctor facts`", partial(ask, "facts"))
        message = "Replay GPU metrics from a file"
        yield PaletteEntry("Play recorded samples", message, partial(ask, "samples"))
        yield PaletteEntry(
            "Open a fleet", "Load the reports of many machines from a directory or a file", partial(ask, "fleet")
        )

    async def discover(self) -> Hits:
        """All of them."""
        for entry in self.entries():
            yield DiscoveryHit(entry.name, entry.run, help=entry.message)

    async def search(self, query: str) -> Hits:
        """Those that match what was typed, by name or by description."""
        matcher = self.matcher(query)
        for entry in self.entries():
            score = max(matcher.match(entry.name), 0.5 * matcher.match(entry.message))
            if score > 0:
                yield Hit(score, matcher.highlight(entry.name), entry.run, text=entry.name, help=entry.message)

    async def _demo(self, name: str) -> None:
        await self.doctor.open(SessionSource(title=f"demo: {name}", facts=load(name), demo=name))
