"""Asks where to save the report, and in which form."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, RadioButton, RadioSet, Static

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.saving.forms import FORMS, SaveFormat, masked_report
from gpudoctor.tui.saving.writing import NotSavedError, resolved, save, taken
from gpudoctor.tui.session import Session

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor

MASKED = "User and host names, home directories, serial numbers and tokens are masked."


class FormButton(RadioButton):
    """Tells by its sign, and not by its color alone, whether it is chosen."""

    BUTTON_LEFT, BUTTON_INNER, BUTTON_RIGHT = " ", "○", " "

    def __init__(self, form: SaveFormat, chosen: bool) -> None:
        super().__init__(f"{form.name}: {form.purpose}", value=chosen)
        self.BUTTON_INNER = "●" if chosen else "○"

    def watch_value(self) -> None:
        """Change the sign."""
        self.BUTTON_INNER = "●" if self.value else "○"
        super().watch_value()


class SaveScreen(ModalScreen[None]):
    """The question."""

    AUTO_FOCUS = "#save-name"  # in a browser there is none, and nothing has the focus
    DEFAULT_CSS = """
    SaveScreen {
        align: center middle;
        #save {
            width: 64; max-width: 96%; height: auto; max-height: 100%;
            padding: 0 1; border: round $primary; border-title-color: $text-primary; background: $surface;
        }
        #save-form { border: none; padding: 0; width: 100%; background: $surface; }
        #save-form RadioButton { width: 100%; padding: 0; }
        #save-form RadioButton > .toggle--button { background: transparent; color: $foreground-muted; }
        #save-form RadioButton.-on > .toggle--button { background: transparent; color: $text-success; }
        #save-name { border: none; height: 1; padding: 0; margin: 1 0 0 0; background: $boost; }
        #save-masked { color: $text-muted; margin: 1 0 0 0; }
        #save-told { height: auto; min-height: 1; margin: 1 0; color: $text-warning; }
        #save-buttons { height: auto; align-horizontal: right; }
        Button { margin: 0 0 0 2; min-width: 10; }
        .-asked { display: none; }
        &.-asking .-asked { display: block; }
        &.-asking .-plain { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "form(-1)", "Another format", show=False),
        Binding("down", "form(1)", "Another format", show=False),
        Binding("enter", "wanted", "Save", show=False),
        Binding("escape", "leave", "Cancel"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session, self.form = session, FORMS[0]
        self._path = ""

    def compose(self) -> ComposeResult:
        """Its widgets."""
        with Vertical(id="save") as box:
            box.border_title = "Save report"
            with RadioSet(id="save-form", compact=True):
                for number, form in enumerate(FORMS):
                    yield FormButton(form, chosen=number == 0)
            if not self.app.is_web:
                yield Input(FORMS[0].file, id="save-name", compact=True)
            yield Static(MASKED, id="save-masked", markup=False)
            yield Static(id="save-told", markup=False)
            with Horizontal(id="save-buttons"):
                label = "Download" if self.app.is_web else "Save"
                yield Button(label, id="save-do", variant="primary", classes="-plain", compact=True)
                yield Button("Cancel", id="save-leave", classes="-plain", compact=True)
                yield Button("Overwrite", id="save-over", variant="warning", classes="-asked", compact=True)
                yield Button("Another name", id="save-rename", classes="-asked", compact=True)

    def on_mount(self) -> None:
        """Wait for the facts, where they are not all there yet."""
        cast("Doctor", self.app).changed.subscribe(self, lambda _: self._ready())
        self._ready()

    def _ready(self) -> None:
        waiting = self.session.running or self.session.facts is None
        button = self.query_one("#save-do", Button)
        if waiting != button.disabled:
            button.disabled = waiting
            self._tell(
                "The probes are still running: the report can be saved when they have finished." if waiting else ""
            )

    def _tell(self, words: str) -> None:
        self.query_one("#save-told", Static).update(clean(words))

    def action_form(self, step: int) -> None:
        """The next form, or the one before."""
        number = (FORMS.index(self.form) + step) % len(FORMS)
        list(self.query(FormButton))[number].value = True

    @on(RadioSet.Changed)
    def _form_chosen(self, event: RadioSet.Changed) -> None:
        """Another form has another name, unless somebody wrote one."""
        for name in self.query(Input):
            if name.value == self.form.file:
                name.value = FORMS[event.index].file
            elif name.value.endswith(f".{self.form.suffix}"):
                name.value = name.value.removesuffix(self.form.suffix) + FORMS[event.index].suffix
        self.form = FORMS[event.index]

    @on(Input.Changed, "#save-name")
    def _renamed(self) -> None:
        self.remove_class("-asking")
        if not self.query_one("#save-do", Button).disabled:
            self._tell("")

    @on(Input.Submitted, "#save-name")
    @on(Button.Pressed, "#save-do")
    def action_wanted(self) -> None:
        """Save, or ask whether what is there may be overwritten."""
        if self.query_one("#save-do", Button).disabled:
            return
        if self.app.is_web:
            self._hand_over(self.form)
        else:
            self._save(self.query_one("#save-name", Input).value, self.form)

    def _ask(self, path: str) -> None:
        """Ask whether what is there may be overwritten, unless somebody has not waited for the question."""
        if self.is_current:
            self._path = path
            self._tell(f"{path} is there already. Overwrite it?")
            self.add_class("-asking")
            self.query_one("#save-rename", Button).focus()

    @on(Button.Pressed, "#save-over")
    def _overwrite(self) -> None:
        self._save(self._path, self.form, over=True)

    @on(Button.Pressed, "#save-rename")
    def _rename(self) -> None:
        self.remove_class("-asking")
        self._tell("")
        self.query_one("#save-name", Input).focus()

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _save(self, name: str, form: SaveFormat, over: bool = False) -> None:
        """In a thread, with the first look at the path: a dead network disk lets nobody wait.

        Args:
            name: what somebody wrote, or the path that may be written over.
            form: of the file.
            over: whether it may be.
        """
        facts, app = self.session.facts, self.app
        if facts is None:
            return
        try:
            path = resolved(name)
            if taken(path) and not over:
                app.call_from_thread(self._ask, path)
                return
            size = save(path, form.render(*masked_report(facts, self.session.source.options)))
        except NotSavedError as error:
            app.call_from_thread(self._failed, str(error))
        except Exception as error:
            app.call_from_thread(self._failed, f"The report could not be written: {type(error).__name__}: {error}.")
        else:
            app.call_from_thread(self._saved, path, size)

    @work(thread=True, exclusive=True, exit_on_error=False)
    def _hand_over(self, form: SaveFormat) -> None:
        """Give the file to the browser: who looks on there may write nothing on this machine."""
        facts, app = self.session.facts, cast("Doctor", self.app)
        if facts is None:
            return
        try:
            text = form.render(*masked_report(facts, self.session.source.options))
            app.call_from_thread(app.deliver, text, os.path.basename(form.file))
        except Exception as error:
            app.call_from_thread(self._failed, f"The report could not be written: {type(error).__name__}: {error}.")
        else:
            app.call_from_thread(self._done)

    def _failed(self, why: str) -> None:
        if not self.is_mounted or self not in self.app.screen_stack:  # somebody has not waited for it
            self.app.notify(why, title="Not saved", severity="error", markup=False)
            return
        self.remove_class("-asking")
        self._tell(why)

    def _saved(self, path: str, size: int) -> None:
        self.notify(f"{path} ({size / 1000:.0f} kB)", title="Saved", markup=False)
        self._done()

    def _done(self) -> None:
        if self.is_current:  # else somebody has not waited for it
            self.dismiss()

    @on(Button.Pressed, "#save-leave")
    def action_leave(self) -> None:
        """Save nothing."""
        self.dismiss()
