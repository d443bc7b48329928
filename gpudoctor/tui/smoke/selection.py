"""A list of things of which each is picked or not, and a number that is stepped through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Line

from gpudoctor.report.sanitize import clean
from gpudoctor.smoketests.suite import STRESS_SECONDS
from gpudoctor.tui.smoke.options import SECONDS, SmokeOption, preset

PICKED, NOT_PICKED = "■", "□"  # told apart without color
ASIDE: list[BindingType] = [
    Binding("left", "app.focus_previous", "Previous list", show=False),
    Binding("right", "app.focus_next", "Next list", show=False),
]


class Changed(Message):
    """Something else is picked."""


class SmokePicks(OptionList):
    """Options that are toggled by space, enter and click; down at the end leads to what comes next."""

    DEFAULT_CSS = """
    SmokePicks {
        height: auto; border: none; padding: 0; background: transparent;
        text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: none; background-tint: transparent; }
        & > .option-list--option { padding: 0; }
        & > .option-list--option-highlighted { background: transparent; color: $foreground; text-style: none; }
        &:focus > .option-list--option-highlighted {
            background: $block-cursor-background; color: $block-cursor-foreground; text-style: $block-cursor-text-style;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "select", "Pick", show=False), *ASIDE]

    def __init__(self, name: str) -> None:
        super().__init__(id=name, compact=True, markup=False)
        self.items: tuple[SmokeOption, ...] = ()
        self._picked: set[str] = set()
        self._names = 0

    def offer(self, items: Iterable[SmokeOption]) -> None:
        """Show other options; what was picked stays picked, as far as it is still there."""
        items = tuple(items)
        if items == self.items:
            return
        before = {item.value for item in self.items}
        fresh = [item for item in items if item.value not in before]
        self._picked = (self._picked & {item.value for item in items}) | set(preset(fresh))
        self.items, at = items, self.highlighted
        self._names = max((len(item.name) for item in items), default=0)
        self.clear_options().add_options(Line(self._line(item)) for item in items)
        self.highlighted = min(at or 0, len(items) - 1) if items else None
        self.post_message(Changed())

    @property
    def picked(self) -> tuple[str, ...]:
        """The values that are picked, in the order of the list."""
        return tuple(item.value for item in self.items if item.value in self._picked)

    def all_or_none(self) -> None:
        """Pick all; where all are picked, none."""
        every = {item.value for item in self.items}
        self._picked = set() if self._picked >= every else every
        self._draw()

    def _line(self, item: SmokeOption) -> Content:
        mark = (PICKED, "$success") if item.value in self._picked else (NOT_PICKED, "$foreground-muted")
        name = clean(item.name)
        if not item.about:
            return Content.assemble(mark, " ", name)
        return Content.assemble(mark, f" {name:<{self._names}}  ", (clean(item.about), "$foreground-muted"))

    def _draw(self) -> None:
        for place, item in enumerate(self.items):
            self.replace_option_prompt_at_index(place, self._line(item))
        self.post_message(Changed())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Toggle it."""
        event.stop()
        self._picked ^= {self.items[event.option_index].value}
        self._draw()

    def action_cursor_down(self) -> None:
        """The next option, or what comes after the list."""
        if self.highlighted is not None and self.highlighted == self.option_count - 1:
            self._leave(self.screen.focus_next(), 0)
        else:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        """The option before, or what comes before the list."""
        if self.highlighted in (None, 0):
            self._leave(self.screen.focus_previous(), -1)
        else:
            super().action_cursor_up()

    def _leave(self, other: Widget | None, place: int) -> None:
        """Enter another list at its first option, or with -1 at its last."""
        if isinstance(other, SmokePicks) and other.option_count:
            other.highlighted = place % other.option_count


class StressSeconds(Widget, can_focus=True):
    """How long stress lasts, stepped by left and right, and by a click on the arrows."""

    DEFAULT_CSS = """
    StressSeconds {
        height: 1; width: auto;
        &:focus { background: $block-cursor-background; color: $block-cursor-foreground; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "step(-1)", "Shorter", show=False),
        Binding("right,plus", "step(1)", "Longer", show=False),
        Binding("down", "app.focus_next", "Next", show=False),
        Binding("up", "app.focus_previous", "Previous", show=False),
    ]
    value: reactive[int] = reactive(STRESS_SECONDS)

    def render(self) -> Content:
        """The number between its arrows."""
        return Content(f"◂ {self.value:>3} s ▸")

    def action_step(self, by: int) -> None:
        """The next longer or shorter time."""
        place = SECONDS.index(self.value) + by
        self.value = SECONDS[max(0, min(place, len(SECONDS) - 1))]
        self.post_message(Changed())

    def on_click(self, event: events.Click) -> None:
        """The left half makes it shorter."""
        self.action_step(-1 if event.x < 5 else 1)
