"""Without colors: what would have a background of its own is drawn with the terminal's two colors exchanged."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

REVERSED = Style(color="default", bgcolor="default", reverse=True)


class Reversed(LineFilter):
    """Has to come before textual's own filter, which takes all colors away."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Exchange the colors where the background is not the terminal's."""
        return [self._one(segment) for segment in segments]

    def _one(self, segment: Segment) -> Segment:
        text, style, control = segment
        if style is None or style.bgcolor is None or style.bgcolor.is_default:
            return segment
        return Segment(text, style + REVERSED, control)
