"""The place "compare": this machine next to another one, or next to itself earlier."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from gpudoctor.comparison import Comparison, compare, side
from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import FactsFileError
from gpudoctor.tui.compare import saved_facts
from gpudoctor.tui.compare.background import aside
from gpudoctor.tui.compare.choices import CompareChoice
from gpudoctor.tui.compare.chooser import Chooser
from gpudoctor.tui.compare.view import ComparisonView
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.header import Header
from gpudoctor.tui.session import Session

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor

CHOOSER, VIEW = "compare-chooser", "compare-view"
WAIT = "Waiting for all probes to finish; the comparison starts then."


class CompareScreen(Screen[None]):
    """The screen."""

    DEFAULT_CSS = """
    #compare { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "choose", "Compare with", tooltip="Type or pick the facts or the report to compare with"),
        Binding("K", "keep", "Save these facts", tooltip="Keep them, masked, to compare with later"),
        Binding("escape", "back", "Back"),
    ]

    class Compared(Message):
        """A comparison is ready, or why there is none; `number` is that of the question."""

        def __init__(self, number: int, result: Comparison | str) -> None:
            super().__init__()
            self.number, self.result = number, result

    class Kept(Message):
        """The facts are kept, cannot be, or are ready for the browser (`text`)."""

        def __init__(self, path: str, why: str = "", text: str = "") -> None:
            super().__init__()
            self.path, self.why, self.text = path, why, text

    def __init__(self) -> None:
        super().__init__()
        self.choice: CompareChoice | None = None
        self._facts: Facts | None = None
        self._asked = 0

    @property
    def session(self) -> Session:
        """The model."""
        return cast("Doctor", self.app).session

    def compose(self) -> ComposeResult:
        """The question, and the answer behind it."""
        yield Header()
        with ContentSwitcher(id="compare", initial=CHOOSER):
            yield Chooser(CHOOSER)
            yield ComparisonView(VIEW)
        yield Footer()

    def on_mount(self) -> None:
        """Ask at once."""
        cast("Doctor", self.app).changed.subscribe(self, self.refresh_from)
        self._facts = self.session.facts
        self.query_one(Chooser).begin()

    def refresh_from(self, session: Session) -> None:
        """Compare again when the machine was checked again."""
        if session.facts is not self._facts:
            self._facts = session.facts
            self._compare()
        elif self.choice is not None and self._facts is None:
            self._wait(session)

    def _wait(self, session: Session) -> None:
        """Say that there are no facts yet, or that none will come."""
        if session.error:
            self.choice = None
        why = f"The checks failed, so there is nothing to compare: {session.error}"
        self.query_one(Chooser).fail(why if session.error else WAIT)

    # -- the comparison ----------------------------------------------------------------------------------------

    def on_chooser_chosen(self, message: Chooser.Chosen) -> None:
        """Compare with what was chosen."""
        self.choice = message.choice
        if self._facts is None:
            self._wait(self.session)
        else:
            self.query_one(Chooser).fail("")
            self._compare()

    def _compare(self) -> None:
        if self.choice is not None and self._facts is not None:
            self._asked += 1
            number, choice, title, facts = self._asked, self.choice, self.session.source.title, self._facts
            aside(self, lambda: self.Compared(number, _compared(choice, title, facts)))

    def on_compare_screen_compared(self, message: Compared) -> None:
        """Show what came of it, unless something else was asked meanwhile."""
        if message.number != self._asked or self.choice is None:
            return
        chooser, switcher = self.query_one(Chooser), self.query_one("#compare", ContentSwitcher)
        if isinstance(message.result, str):
            chooser.fail(message.result)
            self.choice = None
            switcher.current = CHOOSER
            return
        chooser.fail("")
        self.query_one(ComparisonView).show(message.result)
        if switcher.current != VIEW:
            switcher.current = VIEW
            self.query_one(ComparisonView).begin()

    # -- keys --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the way back only where there is one."""
        if action != "back" or not self.is_mounted:
            return super().check_action(action, parameters)
        chosen = self.query_one("#compare", ContentSwitcher).current == VIEW
        return self.query_one(Chooser).typing or (not chosen and self.query_one(ComparisonView).comparison is not None)

    def action_choose(self) -> None:
        """Choose something else to compare with."""
        self.query_one("#compare", ContentSwitcher).current = CHOOSER
        self.query_one(Chooser).list()
        self.query_one(Chooser).ask()

    def action_back(self) -> None:
        """Back to the comparison, where there is one; else from the path to the list, where keys are keys again."""
        if self.query_one(ComparisonView).comparison is not None:
            self.query_one("#compare", ContentSwitcher).current = VIEW
            self.query_one(ComparisonView).begin()
        elif self.query_one(Chooser).typing:
            self.query_one(Chooser).begin()

    def action_keep(self) -> None:
        """Keep the present facts, to compare with them later."""
        facts = self.session.facts
        if facts is None or not self.session.source.live:
            why = (
                "This recorded machine is already a file."
                if facts
                else "Facts are available when all probes have finished."
            )
            self.app.notify(why, severity="warning", markup=False)
            return
        web = self.app.is_web
        aside(self, lambda: _kept(facts, web))

    def on_compare_screen_kept(self, message: Kept) -> None:
        """Say so."""
        if message.why:
            self.app.notify(f"Cannot save the facts: {message.why}.", severity="error", markup=False)
            return
        if message.text:
            cast("Doctor", self.app).deliver(message.text, message.path)
            return
        self.query_one(Chooser).list()
        self.app.notify(message.path, title="Saved, masked", markup=False)


def _compared(choice: CompareChoice, title: str, facts: Facts) -> Comparison | str:
    """The comparison, or a sentence that says why there is none."""
    try:
        return compare(side(title, facts), choice.read())
    except FactsFileError as error:
        return str(error)
    except Exception as error:  # a fault of ours must not end the thread without a word
        return f"Comparison failed: {type(error).__name__}: {error}."


def _kept(facts: Facts, web: bool) -> CompareScreen.Kept:
    try:
        if web:
            return CompareScreen.Kept(saved_facts.name(), text=saved_facts.content(facts))
        return CompareScreen.Kept(saved_facts.keep(facts, saved_facts.folder(os.environ)))
    except Exception as error:  # the disk's, or a fault of ours
        return CompareScreen.Kept("", getattr(error, "strerror", None) or f"{type(error).__name__}: {error}")
