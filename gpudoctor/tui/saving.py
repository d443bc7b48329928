"""Asks where to save the report, and in which form."""

from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

from gpudoctor.tui.session import Session


class SaveScreen(ModalScreen[None]):
    """The question."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Static("")
