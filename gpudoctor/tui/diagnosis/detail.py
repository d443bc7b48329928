"""What is said of the selected item: one text, and the commands in it that can be chosen and copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.selection import Selection
from textual.widgets import Static

from gpudoctor.tui.diagnosis.lines import INDENT, DetailLine, selected
from gpudoctor.tui.diagnosis.page import Page, PageCommand
from gpudoctor.tui.diagnosis.styled import style, styled

Maker = Callable[[int], Page]


class DetailText(Static):
    """The text; the mouse selects a command as it is typed, without its number and its line breaks."""

    lines: tuple[DetailLine, ...] = ()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """What is selected."""
        return selected(self.lines, selection.start, selection.end), "\n"


class FindingDetail(VerticalScroll):
    """Reads like a page; up and down go to the next command in sight, or scroll."""

    DEFAULT_CSS = """
    FindingDetail {
        padding: 0 1;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        & > Static { width: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "next", "Next command", show=False),
        Binding("up", "previous", "Previous command", show=False),
        Binding("enter", "copy", "Copy", tooltip="Copy the selected command", show=False),
        Binding("left", "back", "Back to the list", show=False),
    ]

    class Copy(Message):
        """Somebody wants the chosen command."""

    class Back(Message):
        """Somebody wants to go back to the list."""

    def __init__(self) -> None:
        super().__init__(id="detail")
        self.page, self.chosen = Page(), 0
        self._key: str | None = None
        self._pressed: int | None = None
        self._make: Maker = lambda _: Page()

    def compose(self) -> ComposeResult:
        """The text."""
        yield DetailText(markup=False)

    @property
    def command(self) -> PageCommand | None:
        """The chosen command."""
        return self.page.commands[self.chosen] if self.page.commands else None

    def show(self, key: str | None, make: Maker) -> None:
        """Show a page.

        Args:
            key: what it is about; another one is read from its beginning.
            make: makes it for a width.
        """
        if key != self._key:
            self._key, self.chosen = key, 0
            self.scroll_to(y=0, animate=False, immediate=True)
        self._make = make
        self._lay_out()

    def _lay_out(self) -> None:
        page = self._make((self.scrollable_content_region.width or 61) - 1)  # a blank before the scrollbar
        self.chosen = max(0, min(self.chosen, len(page.commands) - 1))
        if page != self.page:
            self.page = page
            self._draw()

    def _draw(self) -> None:
        text = self.query_one(DetailText)
        text.lines = self.page.lines
        text.update(Content("\n").join(self._line(line) for line in self.page.lines))

    def _line(self, line: DetailLine) -> Content:
        if line.command is None:
            return styled([(f"{line.label:<{INDENT}}", line.look), (line.text, line.style)])
        here = line.command == self.chosen
        number = "" if line.label and not line.label.isdigit() else "  "
        mark = "▶ " if here else number
        label = f"{mark + line.label:<{INDENT}}"
        whole = Content.assemble(
            (label, style("heading label")), (line.text, style("heading command" if here else line.style))
        )
        whole = whole.stylize("on $primary 25%", INDENT) if here and self.has_focus else whole
        return whole.append(Content.styled(line.mark, style("dim"))) if line.mark else whole

    def choose(self, number: int) -> None:
        """Choose a command, and bring it into sight."""
        self.chosen = number
        self._draw()
        rows = self._rows(number)
        top, height = round(self.scroll_y), self.scrollable_content_region.height
        if rows[0] < top:
            self.scroll_to(y=rows[0], animate=False)
        elif rows[-1] >= top + height:
            self.scroll_to(y=rows[-1] - height + 1, animate=False)

    def _rows(self, number: int) -> list[int]:
        return [row for row, line in enumerate(self.page.lines) if line.command == number]

    def action_next(self) -> None:
        """The next command where it is in sight or about to be, else one line down."""
        height = self.scrollable_content_region.height
        self._step(self.chosen + 1, lambda rows: rows[0] <= self.scroll_y + height, self.scroll_down)

    def action_previous(self) -> None:
        """The previous command where it is in sight or about to be, else one line up."""
        self._step(self.chosen - 1, lambda rows: rows[0] >= self.scroll_y - 1, self.scroll_up)

    def _step(self, number: int, near: Callable[[list[int]], bool], scroll: Callable[..., None]) -> None:
        if 0 <= number < len(self.page.commands) and near(self._rows(number)):
            self.choose(number)
        else:
            scroll(animate=False)

    def action_copy(self) -> None:
        """Copy the chosen command."""
        self.post_message(self.Copy())

    def action_back(self) -> None:
        """Back to the list."""
        self.post_message(self.Back())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Note the line: once it has the focus, a narrow screen gives it more room, and the line moves."""
        here, region = event.screen_offset, self.content_region
        self._pressed = here.y - region.y + round(self.scroll_y) if region.contains_point(here) else None

    async def on_click(self, _: events.Click) -> None:
        """A click on a command copies it, and one on the name of a key does what the key does."""
        row, self._pressed = self._pressed, None
        if row is None or row >= len(self.page.lines):
            return
        line = self.page.lines[row]
        if line.command is not None:
            self.choose(line.command)
            self.action_copy()
        elif line.press:
            await self.run_action(line.press)

    def on_resize(self) -> None:
        """Lines are broken again."""
        self._lay_out()

    def on_focus(self) -> None:
        """The chosen command is marked more strongly."""
        self._draw()

    def on_blur(self) -> None:
        """And less."""
        self._draw()
