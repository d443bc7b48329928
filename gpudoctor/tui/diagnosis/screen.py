"""The place "diagnosis": what is wrong on the left, and on the right why, and what to type."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, cast

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from gpudoctor.report.model import FindingEntry
from gpudoctor.tui.diagnosis import fixing, progress, recheck
from gpudoctor.tui.diagnosis.copying import copy
from gpudoctor.tui.diagnosis.detail import FindingDetail
from gpudoctor.tui.diagnosis.filters import FindingFilters, FindingSearch
from gpudoctor.tui.diagnosis.finding_list import STEPS, FindingList
from gpudoctor.tui.diagnosis.items import ItemGroup, groups
from gpudoctor.tui.diagnosis.page import nothing, page
from gpudoctor.tui.diagnosis.recheck_runner import Trials
from gpudoctor.tui.diagnosis.styled import styled
from gpudoctor.tui.diagnosis.view import FindingFilter, next_area, next_status, rows
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.header import Header
from gpudoctor.tui.session import Session

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor


class DiagnosisScreen(Screen[None]):
    """The screen."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - typed by Screen
    AUTO_FOCUS = "#findings"
    DEFAULT_CSS = """
    DiagnosisScreen {
        #diagnosis-summary, #diagnosis-probes { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #diagnosis-probes.-none { display: none; }
        #diagnosis { height: 1fr; }
        &.-wide #diagnosis { layout: horizontal; }
        &.-wide #diagnosis-left { width: 2fr; min-width: 46; max-width: 76; }
        &.-wide FindingDetail { width: 3fr; border-left: vkey $panel; }
        &.-narrow #diagnosis { layout: vertical; }
        &.-narrow #diagnosis-left { height: auto; max-height: 50%; }
        &.-narrow FindingList { height: auto; max-height: 40vh; }
        &.-narrow FindingDetail { height: 1fr; border-top: solid $panel; }
        &.-narrow FindingDetail:focus { border-top: heavy $primary; }
        &.-narrow #diagnosis.-reading #diagnosis-left { max-height: 26vh; }
        &.-narrow #diagnosis.-reading FindingList { max-height: 4; }
        &.-narrow #diagnosis.-empty FindingList { height: 0; }
        &.-wide FindingDetail:focus { border-left: heavy $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", tooltip="Back to the list, then clear all filters"),
        Binding("c", "copy", "Copy", tooltip="Copy the selected command, and save it to a file"),
        Binding("R", "run_fix", "Run fix", key_display="R", tooltip="Run this fix: shows the commands and asks first"),
        Binding("x", "again_one", "Re-check this", tooltip="Check whether the selected finding is fixed"),
        Binding("C", "copy_all", "Copy fix", key_display="C", show=False, tooltip="Copy all commands of the fix"),
        Binding("U", "undo_fix", "Undo fix", key_display="U", show=False, tooltip="Undo the last fix: asks first"),
        *STEPS,
        Binding("slash", "search", "Search", key_display="/", show=False, tooltip="Filter by text"),
        Binding("f", "status", "Status", show=False, tooltip="Filter by status: FAIL, WARN, ..."),
        Binding("F", "area", "Area", key_display="F", show=False, tooltip="Filter by area of checks"),
        Binding("p", "others", "Passed", show=False, tooltip="Also show unknown, passed and skipped checks"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._view, self._groups, self._begun = FindingFilter(), list[ItemGroup](), time.monotonic()
        self._touched = False
        self._trials = Trials(lambda: self.refresh_from(self.session))

    @property
    def session(self) -> Session:
        """The model."""
        return cast("Doctor", self.app).session

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Header()
        yield Static(id="diagnosis-summary", markup=False)
        yield Static(id="diagnosis-probes", markup=False)
        with Container(id="diagnosis"):
            with Vertical(id="diagnosis-left"):
                yield FindingFilters()
                yield FindingSearch()
                yield FindingList()
            yield FindingDetail()
        yield self._trials
        yield Footer()

    def on_mount(self) -> None:
        """Show what is there already, and what comes."""
        cast("Doctor", self.app).changed.subscribe(self, self.refresh_from)
        self.set_interval(1.0, self._tick)
        self.refresh_from(self.session)

    def on_resize(self) -> None:
        """Lines are cut again."""
        self._tell_state()

    def _tick(self) -> None:
        if self.session.running:
            self._tell_state()

    # -- what is shown -------------------------------------------------------------------------------------

    def refresh_from(self, session: Session) -> None:
        """Show the session as it is now."""
        if session.running and not session.progress[0]:
            self._begun = time.monotonic()
        self._trials.follow(session)
        renewed = self._renewed(session)
        self._groups = groups(session.report, () if session.running else session.verdicts, renewed)
        self._tell_state()
        self._show()

    def _renewed(self, session: Session) -> dict[str, FindingEntry]:
        """The findings that were tried again, as they are told now."""
        roots = {group.root.key: group.root.finding for group in groups(session.report)}
        done = self._trials.done
        return {key: recheck.renewed(old, done[key]) for key, old in roots.items() if old and key in done}

    def _tell_state(self) -> None:
        session, width = self.session, max(20, self.size.width - 2)
        self.query_one("#diagnosis-summary", Static).update(styled(progress.summary(session, width)))
        if self._trials.check:
            parts = progress.again(self._trials.check, *self._trials.progress, width)
        else:
            parts = progress.probes(session, width, time.monotonic() - self._begun)
        line = self.query_one("#diagnosis-probes", Static)
        line.set_class(not parts, "-none")
        line.update(styled(parts))

    def _show(self, key: str | None = None) -> None:
        """The list and the detail; without a key, what was selected stays so."""
        found, detail = self.query_one(FindingList), self.query_one(FindingDetail)
        self.query_one(FindingFilters).show(self._view)
        marks = {at: one.mark for at, one in self._trials.done.items()}
        shown = rows(self._groups, self._view)
        kept = found.item.key if found.item and self._touched else None
        found.show(shown, self._view, marks, key or self._moved(kept))
        self._show_detail(detail, found)

    def _moved(self, key: str | None) -> str | None:
        """A finding that turned out to follow from another is read there."""
        roots = {group.root.key for group in self._groups}
        if key is None or key in roots:
            return key
        for group in self._groups:
            for one in group.consequences:
                if one.key == key or one.key.split(" > ")[1].startswith(key):
                    return one.key if group.root.key in self._view.unfolded else group.root.key
        return key

    def _show_detail(self, detail: FindingDetail, found: FindingList) -> None:
        item, session = found.item, self.session
        self.query_one("#diagnosis").set_class(item is None, "-empty")
        if item is None:
            held_back = self._view.narrowed and bool(self._groups)
            report, running, error = session.report, session.running, session.error
            detail.show(None, lambda width: nothing(report, running, error, width, held_back))
            return
        tried = self._trials.done.get(item.key)
        remark = tried.remark if tried else ""
        detail.show(item.key, lambda width: page(item, width, remark))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Going back is offered where one has gone somewhere."""
        if action == "leave":
            return self._view.narrowed or not isinstance(self.focused, FindingList)
        return None if self.why_not(action) else super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        """Why an action is not offered in this session, in a sentence for the palette; empty: it is."""
        if action == "again_one":
            return self.session.source.recorded
        if action in ("run_fix", "undo_fix") and (self.session.source.command is None):
            return fixing.unable(self.session)
        return ""

    def _look(self, view: FindingFilter, key: str | None = None) -> None:
        if view.narrowed != self._view.narrowed:
            self.refresh_bindings()
        self._view, self._touched = view, True
        self._show(key)

    def reveal(self, key: str) -> None:
        """Select a finding, whatever was filtered: other places lead here.

        Args:
            key: of its line (gpudoctor.tui.diagnosis.items): check and subject.
        """
        self._look(FindingFilter(unfolded=self._view.unfolded), key)
        self.query_one(FindingList).focus()

    # -- what the list and the detail tell -----------------------------------------------------------------

    @on(FindingList.Chosen)
    def _chosen(self) -> None:
        self._touched = True
        self._show_detail(self.query_one(FindingDetail), self.query_one(FindingList))

    @on(FindingList.Folded)
    def _folded(self, event: FindingList.Folded) -> None:
        self._look(self._view.toggled(event.key), event.key)

    @on(FindingList.Opened)
    def _opened(self) -> None:
        self._touched = True
        self.query_one(FindingDetail).focus()

    @on(FindingDetail.Back)
    def _back(self) -> None:
        self.query_one(FindingList).focus()

    def on_descendant_focus(self) -> None:
        """On a narrow screen, who reads gets the room."""
        self.query_one("#diagnosis").set_class(self.focused is self.query_one(FindingDetail), "-reading")

    # -- filters -------------------------------------------------------------------------------------------

    def action_status(self) -> None:
        """The next status."""
        self._look(msgspec.structs.replace(self._view, status=next_status(self._groups, self._view)))

    def action_area(self) -> None:
        """The next area."""
        self._look(msgspec.structs.replace(self._view, area=next_area(self._groups, self._view)))

    def action_others(self) -> None:
        """Show or hide the checks that found nothing; who reads a finding goes on with it."""
        self._look(msgspec.structs.replace(self._view, others=not self._view.others))

    def action_search(self) -> None:
        """Write what is searched for."""
        self.query_one(FindingSearch).open()

    @on(Input.Changed, "#search")
    def _searched(self, event: Input.Changed) -> None:
        self._look(msgspec.structs.replace(self._view, text=event.value.strip()))

    @on(Input.Submitted, "#search")
    def _search_ended(self) -> None:
        self.query_one(FindingList).focus()

    def action_leave(self) -> None:
        """From the detail to the list; there, show everything."""
        found = self.query_one(FindingList)
        if self.focused is not self.query_one(FindingDetail):
            self.query_one(FindingSearch).close()
            self._look(msgspec.structs.replace(self._view, text="", status="", area=""))
        found.focus()

    # -- again, and commands -------------------------------------------------------------------------------

    def action_again_one(self) -> None:
        """See whether the selected finding is fixed."""
        item = self.query_one(FindingList).item
        why = self._trials.begin(item, self.session) if item else "Nothing is selected."
        if why:
            self.notify(why, severity="warning", markup=False)

    def action_run_fix(self) -> None:
        """Run the fix of the chosen command in the terminal, where it asks; then see whether it helped."""
        item, chosen = self.query_one(FindingList).item, self.query_one(FindingDetail).command
        number = chosen.fix if chosen else 0
        if why := fixing.why_not(self.session, item, number):
            self.notify(why, severity="warning")
        elif item and item.finding:
            fix = item.finding.fixes[number]
            if self._in_terminal(fixing.words(self.session, item.check, fix, number)) == fixing.DECLINED:
                self.notify("Nothing was run.")
            elif hindered := self._trials.begin(item, self.session, fixing.afterwards(fix)):
                self.notify(hindered, severity="warning")

    def action_undo_fix(self) -> None:
        """Undo what was run last in the terminal, where it asks; then check everything again."""
        if why := fixing.unable(self.session):
            self.notify(why, severity="warning")
        elif self._in_terminal(fixing.UNDO) == 0:
            cast("Doctor", self.app).begin()

    def _in_terminal(self, words: tuple[str, ...]) -> int:
        """Give the terminal to a command of ours; its exit code."""
        command = self.session.source.command
        if command is None:
            return fixing.DECLINED
        with self.app.suspend():
            return command(*words)

    @on(FindingDetail.Copy)
    def action_copy(self) -> None:
        """Copy the chosen command."""
        command = self.query_one(FindingDetail).command
        copy(self.app, [command] if command else [], self.session.source.title)

    def action_copy_all(self) -> None:
        """Copy all commands of the fix to which the chosen one belongs."""
        detail = self.query_one(FindingDetail)
        chosen = detail.command
        fix = [one for one in detail.page.commands if chosen and one.fix == chosen.fix]
        copy(self.app, [one for one in fix if not one.verifies] or fix, self.session.source.title)
