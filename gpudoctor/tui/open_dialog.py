"""Asks what to open: a recorded machine, recorded samples of GPUs, or the reports of a fleet."""

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
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from gpudoctor.facts.facts_file import FactsFileError, read
from gpudoctor.monitor.replay import RecordingError
from gpudoctor.monitor.replay import opened as recording
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.compare.background import aside
from gpudoctor.tui.fleet.model import Opened
from gpudoctor.tui.session import SessionSource

Answer = SessionSource | Opened


def opened(path: str, now: SessionSource) -> SessionSource:
    """A recorded machine.

    Args:
        path: of a facts file.
        now: what is looked at, which is left.

    Raises:
        FactsFileError: the file cannot be read, or is none.
    """
    del now
    return SessionSource(title=os.path.basename(path), facts=read(path))


def played(path: str, now: SessionSource) -> SessionSource:
    """What is looked at, with recorded samples for its GPUs.

    Raises:
        RecordingError: the file cannot be read, or is no recording.
    """
    return msgspec.structs.replace(now, samples=recording(path))


def of_fleet(path: str, now: SessionSource) -> Opened:
    """The reports of a fleet, which are read when they are shown."""
    del now
    return Opened((path,))


class Question(NamedTuple):
    """A kind of file.

    Attributes:
        title: of the dialog.
        example: a name.
        hint: where such a file comes from.
        answer: makes what is opened.
        folder: whether it may be a directory too.
    """

    title: str
    example: str
    hint: str
    answer: Callable[[str, SessionSource], Answer]
    folder: bool = False


KINDS = {
    "facts": Question("Open a facts file", "host.json", "Created by `gpudoctor facts > host.json`.", opened),
    "samples": Question(
        "Play recorded samples", "samples.jsonl", "The format is described in docs/samples.md.", played
    ),
    "fleet": Question(
        "Open a fleet", "run/", "A run directory, or a directory or file with reports.", of_fleet, folder=True
    ),
}


def answer(kind: str, path: str, now: SessionSource) -> Answer | str:
    """What is opened, or the sentence that says why it cannot be.

    Args:
        kind: of KINDS.
        path: of the file.
        now: what is looked at.
    """
    question = KINDS[kind]
    if not path:
        return "Enter a file name."
    if not os.path.isfile(path) and not (question.folder and os.path.isdir(path)):  # a pipe might never end
        wrong = "Not a regular file" if os.path.exists(path) else "No such file"
        return f"{wrong}{' or directory' if question.folder else ''}: {path}."
    try:
        return question.answer(path, now)
    except (FactsFileError, RecordingError) as error:
        return str(error)
    except Exception as error:  # a fault of ours, or a name that no file can have
        return f"Cannot open it: {error}."


class OpenScreen(ModalScreen[Answer | None]):
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

    class Answered(Message):
        """What was opened, or why nothing was."""

        def __init__(self, answer: Answer | str) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self, kind: str, now: SessionSource) -> None:
        super().__init__()
        self._kind, self._question, self._now = kind, KINDS[kind], now

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
        """Open it, or say why not; next to the application, because a dead disk never answers."""
        path = os.path.expanduser(self.query_one("#path", Input).value.strip())
        self.query_one("#why", Static).update("")
        aside(self, lambda: self.Answered(answer(self._kind, path, self._now)))

    def on_open_screen_answered(self, message: Answered) -> None:
        """Leave with what was opened."""
        if isinstance(message.answer, str):
            self.query_one("#why", Static).update(clean(message.answer))
        elif self.is_current:
            self.dismiss(message.answer)

    @on(Button.Pressed, "#cancel")
    def _leave(self) -> None:
        self.dismiss(None)

    def on_click(self, event: Click) -> None:
        """A click next to the dialog leaves it."""
        if event.widget is self:
            self.dismiss(None)
