"""The list of interpreters to pick from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.environment.interpreters import InterpreterEntry

TOOLKITS = "toolkits"  # no path: those are absolute


class Picker(OptionList):
    """Interpreters, each with its kind; the last entry is about CUDA on this machine."""

    DEFAULT_CSS = """
    Picker {
        width: 31;
        height: 1fr;
        border: none;
        border-right: vkey $surface-lighten-1;
        padding: 0 0 0 1;
        background: $background;
        &:focus { border: none; border-right: vkey $accent; }
    }
    """

    class Shown(Message):
        """Somebody looks at an entry: the path of an interpreter, or TOOLKITS."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    class Picked(Message):
        """Somebody wants an interpreter checked."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self) -> None:
        super().__init__()
        self._paths: list[str] = []
        self._shown: tuple[object, ...] | None = None
        self._known = False

    @property
    def path(self) -> str:
        """The entry under the cursor."""
        return self._paths[self.highlighted] if self.highlighted is not None else ""

    def show(self, entries: Sequence[InterpreterEntry]) -> None:
        """Show these; the cursor stays where it was."""
        what = tuple((entry.path, entry.name, entry.about, entry.state) for entry in entries)
        if what == self._shown:
            return
        known = any(one.state != "found" for one in entries)
        before = self.path if self._known else ""  # until then nobody can have chosen
        self._shown, self._known = what, known
        options, paths = [], []
        for title, states in (("Checked", ("examined", "examining")), ("Also on this machine", ("found",))):
            some = [entry for entry in entries if entry.state in states]
            for option, path in [(_heading(title), ""), *((_option(one), one.path) for one in some)] if some else []:
                options.append(option)
                paths.append(path)
        options += [_heading("Outside of Python"), Option(_lines("CUDA and ROCm", "toolkits, driver libraries"))]
        self._paths = [*paths, "", TOOLKITS]
        self.set_options(options)
        self.highlighted = self._paths.index(before) if before in self._paths and before else 1
        self.post_message(self.Shown(self.path))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Tell which entry is looked at."""
        event.stop()
        self.post_message(self.Shown(self.path))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell which interpreter is wanted."""
        event.stop()
        if self.path not in ("", TOOLKITS):
            self.post_message(self.Picked(self.path))


def _heading(title: str) -> Option:
    return Option(Content.styled(title, "bold $text-primary"), disabled=True)


def _option(entry: InterpreterEntry) -> Option:
    mark = {"examined": "", "examining": "… ", "found": ""}[entry.state]
    return Option(_lines(f"{mark}{entry.name}", entry.about or entry.path))


def _lines(name: str, about: str) -> Content:
    return Content.assemble((clean(name), ""), "\n", (f"  {clean(about)}", "dim"))
