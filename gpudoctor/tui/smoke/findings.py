"""What the figures come to: the findings of the smoke tests, each a way into the diagnosis, or what was proven."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gpudoctor.report.model import FindingEntry
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.smoke.lines import Piece
from gpudoctor.tui.smoke.results import content

LOOKS = {"fail": "$text-error bold", "warn": "$text-warning bold", "advice": "$text-accent bold"}


class SmokeFindings(Vertical):
    """The findings beneath the results."""

    DEFAULT_CSS = """
    SmokeFindings {
        height: auto; max-height: 50%; padding: 0 1; display: none; border-top: solid $foreground 20%;
        #heading { text-style: bold; }
        OptionList { height: auto; border: none; padding: 0; background: transparent; }
        OptionList:focus { border: none; background-tint: transparent; }
        OptionList > .option-list--option-highlighted { background: transparent; text-style: none; }
        OptionList:focus > .option-list--option-highlighted { background: $primary 35%; color: $foreground; }
        OptionList:light:focus > .option-list--option-highlighted { background: $primary 12%; }
    }
    """

    class Chosen(Message):
        """Somebody wants to know more of a finding."""

        def __init__(self, finding: FindingEntry) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self) -> None:
        super().__init__(id="smoke-found")
        self.findings: tuple[FindingEntry, ...] = ()

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Static(id="heading", markup=False)
        yield OptionList(id="smoke-findings", compact=True, markup=False)
        yield Static(id="verdict", markup=False)

    def show(self, findings: tuple[FindingEntry, ...], verdict: Sequence[Piece]) -> None:
        """Show findings, and what else is to be said."""
        self.display = bool(findings or verdict)
        listed = self.query_one(OptionList)
        if findings != self.findings:
            self.findings = findings
            listed.clear_options().add_options(Option(_line(found)) for found in findings)
            listed.highlighted = 0 if findings else None
        listed.display = bool(findings)
        heading = self.query_one("#heading", Static)
        heading.display = bool(findings)
        count = len(findings)
        heading.update(f"{count} finding{'s' * (count != 1)}: Enter, click or d shows the cause and the fix")
        said = self.query_one("#verdict", Static)
        said.display = bool(verdict)
        said.update(content([[piece] for piece in verdict]))

    @property
    def chosen(self) -> FindingEntry | None:
        """The one that is highlighted."""
        place = self.query_one(OptionList).highlighted
        return self.findings[place] if place is not None and self.findings else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        event.stop()
        self.post_message(self.Chosen(self.findings[event.option_index]))


def _line(found: FindingEntry) -> Content:
    """Status, what it is about, and what was found."""
    status = (f"{found.status.upper():<6}", LOOKS.get(found.status, ""))
    about = "" if found.subject in found.message else f"  {clean(found.subject)}"
    return Content.assemble(status, " ", clean(found.message), (about, "$foreground-muted"))
