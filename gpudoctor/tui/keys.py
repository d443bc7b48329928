"""The keys that work here and now, in a dialog that can be scrolled by keys in a small terminal too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any, ClassVar, NamedTuple

from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

# Nothing is wider than the screen here, and these would fill the list.
SIDEWAYS = ("page_left", "page_right", "scroll_left", "scroll_right")
# Actions that are one to those who reads the list; textual has a line for each, in words that say little.
STEPS, LEAPS = "Up and down", "Page up, page down, first, last"
TOGETHER = {
    **dict.fromkeys(("cursor_up", "cursor_down", "scroll_up", "scroll_down", "next", "previous"), STEPS),
    **dict.fromkeys(("page_up", "page_down", "first", "last", "scroll_home", "scroll_end"), LEAPS),
    **dict.fromkeys(("app.focus_next", "app.focus_previous"), "Next or previous list or field"),
    **dict.fromkeys(("move('down')", "move('up')"), "Down and up, like the arrow keys"),
    **dict.fromkeys(("move('home')", "move('end')"), "First and last"),
    "quit": "Quit and stop running tests",
    "command_palette": "Command palette: find any action by name",
}
PAGES = ("pgup", "pgdn", "home", "end")  # as LEAPS names them
WIDE, WIDEST = 18, 76  # columns for the keys, and of the dialog


CURSOR, EVERYWHERE = "Focused list or field", "Everywhere"


class KeyEntry(NamedTuple):
    """What one or several keys do."""

    keys: tuple[str, ...]
    does: str


class KeyGroup(NamedTuple):
    """Keys that belong together."""

    title: str
    entries: tuple[KeyEntry, ...]


def groups(bindings: Mapping[str, ActiveBinding], app: App[Any], place: str) -> list[KeyGroup]:
    """The keys in groups: of the place, of what the cursor is in, and of the application.

    Args:
        bindings: that are active, by key.
        app: whose keys work everywhere, and which knows how a key is called.
        place: the title of the screen.
    """
    found: dict[str, dict[str, KeyEntry]] = {place: {}, CURSOR: {}, EVERYWHERE: {}}
    for key, (node, binding, enabled, tooltip) in bindings.items():
        if not enabled or not binding.description or binding.action in SIDEWAYS or key.startswith("super+"):
            continue
        of_place = binding.description if binding.action.startswith("go(") else ""
        does = TOGETHER.get(binding.action) or of_place or tooltip or binding.tooltip or binding.description
        of_app = isinstance(node, App) or binding.action.startswith("app.focus")
        title = EVERYWHERE if of_app else place if isinstance(node, Screen) else CURSOR
        keys = (*found[title].get(does, KeyEntry((), does)).keys, app.get_key_display(binding))
        found[title][does] = KeyEntry(tuple(sorted(dict.fromkeys(keys), key=_place)), does)
    return [KeyGroup(title, tuple(entries.values())) for title, entries in found.items() if entries]


def _place(key: str) -> tuple[int, int]:
    """Where a key stands among those of its entry: as its words are ordered, else the shortest first."""
    return PAGES.index(key) if key in PAGES else -1, len(key)


def text(listed: Iterable[KeyGroup], width: int) -> Content:
    """The groups as they are shown in so many columns: a heading, then a line an entry, or several."""
    parts: list[Content] = []
    for title, entries in listed:
        parts += [Content("")] if parts else []
        parts.append(Content.styled(title, "bold $text-primary"))
        parts += [_entry(keys, does, width) for keys, does in entries]
    return Content("\n").join(parts)


def _entry(keys: Iterable[str], does: str, width: int) -> Content:
    lines = wrap(does, max(10, width - WIDE - 2))
    return Content.assemble((f"{' '.join(keys):>{WIDE}}", "bold"), "  ", ("\n" + " " * (WIDE + 2)).join(lines))


class KeysScreen(ModalScreen[None]):
    """The dialog; escape, the key that opened it, or a click next to it closes it."""

    DEFAULT_CSS = """
    KeysScreen {
        align: center middle;
        #keys {
            width: 76; max-width: 96%; height: auto; max-height: 96%; padding: 0 1; scrollbar-size: 0 1;
            border: round $primary; border-title-color: $text-primary; background: $surface;
            border-subtitle-color: $foreground-muted;
        }
        #keys > Static { height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,h,q", "dismiss(None)", "Close"),
        Binding("j", "scroll(1)", "Down", show=False),
        Binding("k", "scroll(-1)", "Up", show=False),
        Binding("g", "scroll(-1000)", "First", show=False),
        Binding("G", "scroll(1000)", "Last", show=False),
    ]

    def __init__(self, listed: Iterable[KeyGroup]) -> None:
        super().__init__()
        self._listed = tuple(listed)

    def compose(self) -> ComposeResult:
        """Its widgets."""
        with VerticalScroll(id="keys") as box:
            box.border_title, box.border_subtitle = "Keys", "j k scroll, Esc closes"
            yield Static(markup=False)

    def on_resize(self) -> None:
        """Lines are broken again."""
        box = self.query_one("#keys")
        box.query_one(Static).update(text(self._listed, min(WIDEST, self.size.width * 96 // 100) - 5))

    def action_scroll(self, lines: int) -> None:
        """Some lines down, or up."""
        self.query_one("#keys").scroll_relative(y=lines, animate=False)

    def on_click(self, event: Click) -> None:
        """A click next to the dialog closes it."""
        if event.widget is self:
            self.dismiss()
