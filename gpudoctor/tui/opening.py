"""Asks for a file to open: a recorded machine, or recorded samples of GPUs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Click
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from gpudoctor.facts.file import FactsFileError, read
from gpudoctor.monitor.replay import RecordingError
from gpudoctor.monitor.replay import opened as recording
from gpudoctor.report.clean import clean
from gpudoctor.tui.session import Source


def opened(path: str, now: Source) -> Source:
    """A recorded machine.

    Args:
        path: of a facts file.
        now: what is looked at, which is left.

    Raises:
        FactsFileError: the file cannot be read, or is none.
    """
    del now
    return Source(title=os.path.basename(path), facts=read(path))


def played(path: str, now: Source) -> Source:
    """What is looked at, with recorded samples for its GPUs.

    Raises:
        RecordingError: the file cannot be read, or is no recording.
    """
    return msgspec.structs.replace(now, samples=recording(path))


class Question(NamedTuple):
    """A kind of file.

    Attributes:
        title: of the dialog.
        example: a name.
        hint: where such a file comes from.
        answer: makes what is opened.
    """

    title: str
    example: str
    hint: str
    answer: Callable[[str, Source], Source]


KINDS = {
    "facts": Question("Open a facts file", "host.json", "`gpudoctor facts > host.json` writes one.", opened),
    "samples": Question(
        "Play recorded samples", "samples.jsonl", "docs/samples.md says how such a file looks.", played
    ),
}


class OpenScreen(ModalScreen[Source | None]):
    """The question; gives what was opened, or None where somebody thought better of it.

    Args:
        kind: facts or samples.
        now: what is looked at.
    """

    DEFAULT_CSS = """
    OpenScreen {
        align: center middle;
        #question {
            width: 64; max-width: 96%; height: auto; max-height: 100%; padding: 0 1;
            border: round $primary; border-title-color: $text-primary; background: $surface;
        }
        #path { border: none; height: 1; padding: 0; background: $boost; }
        .dim { height: auto; margin: 1 0 0 0; }
        #why { height: auto; min-height: 1; margin: 1 0; color: $text-error; }
        #question-buttons { height: auto; align-horizontal: right; }
        Button { margin: 0 0 0 2; min-width: 10; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, kind: str, now: Source) -> None:
        super().__init__()
        self._question, self._now = KINDS[kind], now

    def compose(self) -> ComposeResult:
        """Its widgets."""
        with Vertical(id="question") as box:
            box.border_title = self._question.title
            yield Input(placeholder=self._question.example, id="path", compact=True)
            yield Static(self._question.hint, classes="dim", markup=False)
            yield Static("", id="why", markup=False)
            with Horizontal(id="question-buttons"):
                yield Button("Open", id="open", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    @on(Input.Submitted, "#path")
    @on(Button.Pressed, "#open")
    def _open(self) -> None:
        """Open it, or say why not."""
        path = os.path.expanduser(self.query_one("#path", Input).value.strip())
        try:
            if not os.path.isfile(path):  # a device or a pipe might never end
                raise FactsFileError(f"There is no file {path}." if path else "The file needs a name.")
            self.dismiss(self._question.answer(path, self._now))
        except (FactsFileError, RecordingError) as error:
            self.query_one("#why", Static).update(clean(str(error)))

    @on(Button.Pressed, "#cancel")
    def _leave(self) -> None:
        self.dismiss(None)

    def on_click(self, event: Click) -> None:
        """A click beside the dialog leaves it."""
        if event.widget is self:
            self.dismiss(None)
