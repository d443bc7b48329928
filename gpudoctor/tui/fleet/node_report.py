"""The report of one node: its findings as the place Diagnosis shows them."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Static

from gpudoctor.report.model import Report, word
from gpudoctor.tui.diagnosis.copying import copy
from gpudoctor.tui.diagnosis.detail import FindingDetail
from gpudoctor.tui.diagnosis.finding_list import STEPS, FindingList
from gpudoctor.tui.diagnosis.items import groups
from gpudoctor.tui.diagnosis.lines import hanging
from gpudoctor.tui.diagnosis.page import Page, headline, page, verdict_sentence
from gpudoctor.tui.diagnosis.styled import styled
from gpudoctor.tui.diagnosis.view import FindingFilter, rows
from gpudoctor.tui.footer import Footer


class NodeReport(Screen[None]):
    """The findings at the left, and what is said of the selected one at the right, or beneath.

    Args:
        node: its name.
        path: of the file with the report.
        report: what is shown.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - typed by Screen
    AUTO_FOCUS = "#findings"
    DEFAULT_CSS = """
    NodeReport {
        #node-title { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        #node-report { height: 1fr; }
        &.-wide #node-report { layout: horizontal; }
        &.-wide FindingList { width: 2fr; min-width: 46; max-width: 76; }
        &.-wide FindingDetail { width: 3fr; border-left: vkey $panel; }
        &.-wide FindingDetail:focus { border-left: heavy $primary; }
        &.-narrow FindingList { height: auto; max-height: 40vh; }
        &.-narrow FindingDetail { height: 1fr; border-top: solid $panel; }
        &.-narrow FindingDetail:focus { border-top: heavy $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", tooltip="Back to the list, then back to the fleet"),
        Binding("c", "copy", "Copy", tooltip="Copy the selected command, and save it to a file"),
        Binding("C", "copy_all", "Copy fix", show=False, tooltip="Copy all commands of the fix"),
        *STEPS,
        Binding("u", "others", "Unknown", tooltip="Also show what is unknown"),
    ]

    def action_step(self, by: int) -> None:
        """The next finding, or the one before."""
        self.query_one(FindingList).step(by)

    def __init__(self, node: str, path: str, report: Report) -> None:
        super().__init__()
        self.node, self.path, self.report = node, path, report
        self._view = FindingFilter()

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Static(id="node-title", markup=False)
        with Container(id="node-report"):
            yield FindingList()
            yield FindingDetail()
        yield Footer()

    def on_mount(self) -> None:
        """Show the report."""
        made = f", created {self.report.created}" if self.report.created else ""
        parts = [(self.node, "heading"), (f"  {word(self.report.status)}{made}  ", ""), (self.path, "dim")]
        self.query_one("#node-title", Static).update(styled(parts))
        self._show()

    def _show(self, key: str | None = None) -> None:
        found = self.query_one(FindingList)
        found.show(
            rows(groups(self.report), self._view), self._view, {}, key or (found.item.key if found.item else None)
        )
        self._chosen()

    @on(FindingList.Chosen)
    def _chosen(self) -> None:
        item, report = self.query_one(FindingList).item, self.report
        detail = self.query_one(FindingDetail)
        if item is None:
            detail.show(None, lambda width: proven(report, width))
        else:
            detail.show(item.key, lambda width: page(item, width))

    @on(FindingList.Folded)
    def _folded(self, event: FindingList.Folded) -> None:
        self._view = self._view.toggled(event.key)
        self._show(event.key)

    @on(FindingList.Opened)
    def _opened(self) -> None:
        self.query_one(FindingDetail).focus()

    @on(FindingDetail.Back)
    def _back(self) -> None:
        self.query_one(FindingList).focus()

    def action_leave(self) -> None:
        """From the detail to the list; there, back to the fleet."""
        if self.focused is self.query_one(FindingDetail):
            self.query_one(FindingList).focus()
        else:
            self.dismiss()

    def action_others(self) -> None:
        """Show or hide what could not be found out."""
        self._view = msgspec.structs.replace(self._view, others=not self._view.others)
        self._show()

    @on(FindingDetail.Copy)
    def action_copy(self) -> None:
        """Copy the chosen command."""
        command = self.query_one(FindingDetail).command
        copy(self.app, [command] if command else [], self.node)

    def action_copy_all(self) -> None:
        """Copy all commands of the fix to which the chosen one belongs."""
        detail = self.query_one(FindingDetail)
        chosen = detail.command
        fix = [one for one in detail.page.commands if chosen and one.fix == chosen.fix]
        copy(self.app, [one for one in fix if not one.verifies] or fix, self.node)


def proven(report: Report, width: int) -> Page:
    """What is said of a report without findings."""
    well = report.status == "pass"
    message = f"{verdict_sentence(report)}."
    reported = [sentence for sentence in report.next if "--verbose" not in sentence]
    lines = [line for sentence in reported for line in hanging("", sentence, width)]
    state = "pass" if well else "warn"
    return Page((*headline(word(report.status)[:7], message, width, state), *lines))
