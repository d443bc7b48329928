"""The last row: the keys of the place, then those that work everywhere; a click is as good as the key.

Textual's own footer is a widget a key, made again three times each time that another place is shown, which takes longer
than all the rest of it, and it hides what it has no room for.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.widget import Widget


class Key(NamedTuple):
    """A key on offer.

    Attributes:
        key: as textual calls it.
        shown: as people do.
        does: in a word or two.
        last: whether it is of the few that stay when there is no room.
    """

    key: str
    shown: str
    does: str
    last: bool = False

    @property
    def columns(self) -> int:
        """The room that it takes."""
        return len(self.shown) + len(self.does) + 3


def row(width: int, keys: list[Key]) -> list[tuple[Key, int]]:
    """The keys that have room, in their order, and the blanks before each.

    Those that always stay are at the right end; of the others the first ones stay.
    """
    stay = [key for key in keys if key.last]
    room = width - sum(key.columns for key in stay)
    shown: list[Key] = []
    for key in keys:
        if not key.last and key.columns <= room:
            shown.append(key)
            room -= key.columns
        elif not key.last:
            break
    pieces: list[tuple[Key, int]] = [(key, 0) for key in shown]
    return [*pieces, *((key, max(0, room) if number == 0 else 0) for number, key in enumerate(stay))]


class Footer(Widget):
    """The row."""

    DEFAULT_CSS = """
    Footer { dock: bottom; width: 1fr; height: 1; background: $footer-background; color: $footer-foreground; }
    """

    def on_mount(self) -> None:
        """Follow the keys that work, which change with what has the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[object]) -> None:
        if screen is self.screen:
            self.refresh()

    def pieces(self) -> list[tuple[Key, int]]:
        """What is shown."""
        found: dict[str, Key] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            palette = binding.key == self.app.COMMAND_PALETTE_BINDING
            if enabled and (binding.show or palette) and binding.action not in found:
                last = palette or binding.action in ("help", "quit")
                shown = self.app.get_key_display(binding)
                does = "Palette" if palette else binding.description
                found[binding.action] = Key(binding.key, shown, does, last)
        return row(self.size.width, list(found.values()))

    def render(self) -> Content:
        """The row for the room that there is."""
        parts: list[Content | str | tuple[str, str]] = []
        for key, blanks in self.pieces():
            parts += [" " * blanks, (f" {key.shown}", "bold $footer-key-foreground"), f" {key.does} "]
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Do what the key under the mouse does."""
        column = event.x
        for key, blanks in self.pieces():
            column -= blanks
            if column < 0:
                return
            column -= key.columns
            if column < 0:
                self.app.simulate_key(key.key)
                return
