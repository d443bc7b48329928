"""The place "environment"."""

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Footer, Header, Static


class Place(Screen[None]):
    """The screen."""

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Header()
        yield Static("")
        yield Footer()
