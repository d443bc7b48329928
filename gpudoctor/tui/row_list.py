"""A list whose rows are text of several lines, broken to its width."""

from __future__ import annotations

from textual.widgets import OptionList


class RowList(OptionList):
    """The list; what a row holds is its subclass's."""

    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        max-height: 100%;
        border: none;
        padding: 0;
        background: $background;
        scrollbar-gutter: stable;
        scrollbar-size: 0 1;
        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted { background: $surface-lighten-1; text-style: none; }
        & > .option-list--option-disabled { color: $text-muted; }
        &:focus { border: none; background-tint: transparent 0%; }
        &:focus > .option-list--option-highlighted {
            background: $primary 35%; color: $foreground; text-style: none;
        }
        &:light:focus > .option-list--option-highlighted { background: $primary 12%; }
    }
    """

    @property
    def width(self) -> int:
        """Columns of a row."""
        return (self.scrollable_content_region.width or 60) - 2

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click only selects."""
        event.stop()
