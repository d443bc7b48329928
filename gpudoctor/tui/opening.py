"""Asks for a facts file to open."""

from __future__ import annotations

import os
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from gpudoctor.facts.file import FactsFileError, read
from gpudoctor.report.clean import clean
from gpudoctor.tui.session import Source

HINT = "`gpudoctor facts > host.json` writes one.\nEnter opens it, Escape goes back."


def opened(path: str) -> Source:
    """A recorded machine.

    Raises:
        FactsFileError: the file cannot be read, or is none.
    """
    path = os.path.expanduser(path.strip())
    if not os.path.isfile(path):  # a device or a pipe might never end
        raise FactsFileError(f"There is no file {path}.")
    return Source(title=os.path.basename(path), facts=read(path))


class OpenScreen(ModalScreen[Source | None]):
    """The question; gives the recorded machine, or None where somebody thought better of it."""

    DEFAULT_CSS = """
    OpenScreen {
        align: center middle;
        #question { width: 76; max-width: 94%; height: auto; padding: 1 2; border: round $primary; }
        #question { background: $surface; }
        #why { height: auto; color: $text-error; }
        .dim { height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back")]

    def compose(self) -> ComposeResult:
        """Its widgets."""
        with Vertical(id="question"):
            yield Static("Open a facts file", classes="heading", markup=False)
            yield Input(placeholder="host.json", id="path")
            yield Static("", id="why", markup=False)
            yield Static(
                "`gpudoctor facts > host.json` writes one.   Enter opens, Escape goes back.",
                classes="dim",
                markup=False,
            )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Open it, or say why not."""
        try:
            self.dismiss(opened(event.value))
        except FactsFileError as error:
            self.query_one("#why", Static).update(clean(str(error)))
