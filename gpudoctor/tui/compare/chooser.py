"""Asks with what to compare."""

from __future__ import annotations

import os
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gpudoctor.report.sanitize import clean, wrapped
from gpudoctor.tui.compare.background import aside
from gpudoctor.tui.compare.choices import CompareChoice, choices, typed
from gpudoctor.tui.compare.completion import PathSuggester

# In a browser, where no files of this machine are opened but those that were kept from here.
CLOSED = "Compare with a recorded machine, or with this one earlier"
TITLE = "Compare with a facts file or a report: a good machine, or this one earlier"


class Chooser(Vertical):
    """A path to type, and a list to pick from."""

    DEFAULT_CSS = """
    Chooser { height: 1fr; padding: 0 1; }
    Chooser > Static { height: auto; text-style: bold; }
    Chooser > #compare-error { color: $text-error; text-style: none; display: none; }
    Chooser.failed > #compare-error { display: block; }
    Chooser > Input { height: 3; margin: 0 0 1 0; }
    Chooser > OptionList { height: 1fr; background: $background; }
    """

    class Chosen(Message):
        """Somebody chose."""

        def __init__(self, choice: CompareChoice) -> None:
            super().__init__()
            self.choice = choice

    class Listed(Message):
        """What there is to choose from."""

        def __init__(self, found: Sequence[CompareChoice]) -> None:
            super().__init__()
            self.found = found

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.here = os.environ.get("PWD") or "."
        self._choices: list[CompareChoice | None] = []

    def compose(self) -> ComposeResult:
        """The question."""
        yield Static(CLOSED if self.app.is_web else TITLE, markup=False)
        if not self.app.is_web:
            yield Input(
                placeholder="path of a .json file; right arrow completes, down opens the list",
                suggester=PathSuggester(self.here),
            )
        yield Static(markup=False, id="compare-error")
        yield OptionList(compact=True)

    def on_mount(self) -> None:
        """List what there is."""
        self.list()

    def list(self) -> None:
        """Look again what there is to compare with."""
        here = None if self.app.is_web else self.here
        aside(self, lambda: self.Listed(choices(os.environ, here)))

    def on_chooser_listed(self, message: Listed) -> None:
        """Show it; the cursor stays on what it was on."""
        message.stop()
        chosen = self.query_one(OptionList)
        before = self._choices[chosen.highlighted] if chosen.highlighted is not None and self._choices else None
        self._choices, options, group = [], [], ""
        for choice in message.found:
            if choice.group != group:
                group = choice.group
                options.append(Option(Content.styled(group, "bold $text-primary"), disabled=True))
                self._choices.append(None)
            name = wrapped(f"  {choice.name}", self.app.size.width - 4, "    ")
            options.append(Option(Content("\n".join(name))))
            self._choices.append(choice)
        chosen.set_options(options)
        first = 1 if len(options) > 1 else None
        chosen.highlighted = self._choices.index(before) if before and before in self._choices else first

    def fail(self, why: str) -> None:
        """Say why the chosen one cannot be taken; empty: it can."""
        self.set_class(bool(why), "failed")
        self.query_one("#compare-error", Static).update(clean(why))

    def begin(self) -> None:
        """Let somebody pick from the list: without the focus, the path box takes no key."""
        self.query_one(OptionList).focus()

    def ask(self) -> None:
        """Let somebody type a path; in a browser there is none to type."""
        boxes = self.query(Input)
        (boxes.first() if boxes else self.query_one(OptionList)).focus()

    @property
    def typing(self) -> bool:
        """Whether what is typed goes into the path."""
        return isinstance(self.screen.focused, Input)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take one of the list."""
        event.stop()
        choice = self._choices[event.option_index]
        if choice is not None:
            self.post_message(self.Chosen(choice))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed."""
        event.stop()
        if event.value.strip():
            self.post_message(self.Chosen(typed(event.value.strip(), self.here)))

    def key_down(self) -> None:
        """From the path to the list."""
        if self.typing:
            self.begin()
