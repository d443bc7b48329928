"""The first row: the places by their keys, where one is, and what is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from textual.content import Content
from textual.events import Click
from textual.widget import Widget

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.screens import ALL, FLEET, PLACES, ScreenEntry

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor


HERE, THERE = "bold reverse", ("", "$foreground-muted")


class Tab(NamedTuple):
    """A piece of the row.

    Attributes:
        text: of it.
        place: where a click on it leads; None: nowhere.
    """

    text: str
    place: str | None = None


def row(width: int, current: str, title: str, places: Sequence[ScreenEntry] = PLACES) -> list[Tab]:
    """The pieces of the row, which fill it: with less room fewer places have a name, and none loses its key.

    Args:
        width: of the row.
        current: the place where one is, which keeps its name longest.
        title: of what is checked.
        places: that are shown.
    """
    tabs = [Tab(f" {place.key} {place.title} ", place.name) for place in places]
    if sum(len(tab.text) for tab in tabs) > width:
        tabs = [tab if tab.place == current else Tab(tab.text[:3], tab.place) for tab in tabs]
    room = max(0, width - sum(len(tab.text) for tab in tabs))
    shown = title if len(title) + 2 <= room else f"{title[: room - 3]}…" if room >= 6 else ""
    return [*tabs, Tab(f"{shown} ".rjust(room)[:room])]


class Header(Widget):
    """The row; a click on a place leads there."""

    DEFAULT_CSS = """
    Header { dock: top; width: 1fr; height: 1; background: $panel; color: $foreground; }
    """

    def pieces(self) -> list[Tab]:
        """What is shown."""
        app = cast("Doctor", self.app)
        of_fleet = app.current_mode == FLEET.name
        title = app.fleet.title if of_fleet else app.session.source.title
        return row(self.size.width, app.current_mode, clean(title), ALL if app.fleet.paths or of_fleet else PLACES)

    def render(self) -> Content:
        """The row for the room that there is."""
        here = self.app.current_mode
        return Content.assemble(
            *((text, HERE if place == here else THERE[place is None]) for text, place in self.pieces())
        )

    async def on_click(self, event: Click) -> None:
        """Go to the place that lies under the mouse."""
        column = event.x
        for text, place in self.pieces():
            column -= len(text)
            if column < 0:
                if place is not None:
                    cast("Doctor", self.app).action_go(place)
                return
