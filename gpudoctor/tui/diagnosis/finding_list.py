"""The list of findings; what follows from each is folded beneath it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from gpudoctor.tui.diagnosis.items import OTHERS, WORDS, Item
from gpudoctor.tui.diagnosis.lines import LIST_INDENT, folded
from gpudoctor.tui.diagnosis.page import STYLES
from gpudoctor.tui.diagnosis.styled import style, styled
from gpudoctor.tui.diagnosis.view import FindingFilter, Heading, Row
from gpudoctor.tui.row_list import RowList

# Of the screens with such a list, wherever their focus is.
STEPS = (
    Binding("right_square_bracket", "step(1)", "Next finding", key_display="]", show=False,
            tooltip="Next finding, previous finding"),
    Binding("left_square_bracket", "step(-1)", "Previous finding", key_display="[", show=False,
            tooltip="Next finding, previous finding"),
)  # fmt: skip
Shown = tuple[tuple[Row, ...], frozenset[str], Mapping[str, str], int]


class FindingList(RowList):
    """What is wrong, root causes first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Details", show=False, tooltip="Open details"),
        Binding("space,right,left", "fold", "Fold", show=False, tooltip="Show or hide its consequences"),
    ]

    class Chosen(Message):
        """Another row is selected, by a person."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Folded(Message):
        """Somebody wants a finding's consequences shown or hidden."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Opened(Message):
        """Somebody wants to read on."""

    def __init__(self) -> None:
        super().__init__(id="findings", markup=False)
        self._shown: Shown | None = None
        self._rows: tuple[Row, ...] = ()
        self._view, self._marks = FindingFilter(), dict[str, str]()

    @property
    def item(self) -> Item | None:
        """What is selected."""
        row = self._rows[self.highlighted] if self.highlighted is not None else None
        return row if isinstance(row, Item) else None

    def show(self, rows: Sequence[Row], view: FindingFilter, marks: Mapping[str, str], key: str | None) -> None:
        """Show these rows, and select the one of this key, or the nearest.

        Args:
            rows: what to show.
            view: which are unfolded.
            marks: by key, words on what came of trying it again.
            key: to select; None: the first row.
        """
        self._rows, self._view, self._marks = tuple(rows), view, dict(marks)
        shown = (self._rows, view.unfolded, self._marks, self.width)
        place = self._place(key)
        with self.prevent(OptionList.OptionHighlighted):
            if shown != self._shown:
                top = self.scroll_y
                self.set_options([self._option(row) for row in rows])
                self._shown = shown
                self.scroll_to(y=top, animate=False, immediate=True)
            self.highlighted = place

    def step(self, by: int) -> None:
        """Select the next row, or the one before."""
        (self.action_cursor_down if by > 0 else self.action_cursor_up)()

    def _place(self, key: str | None) -> int | None:
        """Where the key is now; where it is gone, what stands at its place."""
        items = [number for number, row in enumerate(self._rows) if isinstance(row, Item)]
        for number in items:
            row = self._rows[number]
            if isinstance(row, Item) and row.key == key:
                return number
        before = self.highlighted if key is not None and self.highlighted is not None else 0
        return min(items, key=lambda number: abs(number - before)) if items else None

    def _option(self, row: Row) -> Option:
        if isinstance(row, Heading):
            return Option(Content.styled(row.title, "bold"), disabled=True)
        lines = _of_consequence(row, self.width) if row.follows else self._of_root(row)
        return Option(Content("\n").join(lines), id=row.key)

    def _of_root(self, item: Item) -> list[Content]:
        names = f"heading {STYLES[item.status]}" if item.status not in OTHERS else STYLES.get(item.status, "dim")
        title = item.check if item.status in ("pass", "skipped") else item.title
        parts = folded(title, self.width - LIST_INDENT)
        label = f"{WORDS[item.status]:<{LIST_INDENT}}"
        lines = [styled([(label, names), (parts[0], "heading" if item.status not in OTHERS else "")])]
        lines += [styled([(" " * LIST_INDENT + part, "heading")]) for part in parts[1:]]
        below = self._below(item)
        return [*lines, below] if below.plain else lines

    def _below(self, item: Item) -> Content:
        """The second line: about what, how much follows, and what came of trying again."""
        if item.finding is None:
            return Content("")
        parts = [styled([(item.subject, "dim")])] if item.subject != "this machine" else []
        if number := len(item.finding.consequences):
            sign = "▾" if item.key in self._view.unfolded else "▸"
            words = f"{sign} {number} consequence{'s' * (number != 1)}"
            parts.append(Content(words).stylize(Style.from_meta({"fold": item.key})).stylize(style("advice")))
        if mark := self._marks.get(item.key):
            parts.append(styled([(mark, "heading pass" if mark.startswith("✓") else "heading warn")]))
        joined = Content("  ").join(parts)
        return Content(" " * LIST_INDENT).append(joined) if parts else joined

    def on_resize(self) -> None:
        """Rows are broken again."""
        if self._shown and self._shown[-1] != self.width:
            item = self.item
            self.show(self._rows, self._view, self._marks, item.key if item else None)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell the screen."""
        event.stop()
        if event.option_id is not None:
            self.post_message(self.Chosen(event.option_id))

    async def _on_click(self, event: events.Click) -> None:
        key = event.style.meta.get("fold")
        await super()._on_click(event)
        if key:
            self.post_message(self.Folded(key))

    def action_open(self) -> None:
        """Read on."""
        self.post_message(self.Opened())

    def action_fold(self) -> None:
        """Show or hide what follows; on a consequence, hide all of them."""
        if self.item and self.item.finding:
            self.post_message(self.Folded(self.item.key.split(" > ")[0]))


def _of_consequence(item: Item, width: int) -> list[Content]:
    times = f" ({item.times} times)" if item.times > 1 else ""
    parts = folded(item.title + times, width - LIST_INDENT - 3)
    lines = [styled([(" " * LIST_INDENT, ""), ("└─ ", "dim"), (parts[0], "")])]
    return lines + [styled([(" " * (LIST_INDENT + 3) + part, "")]) for part in parts[1:]]
