"""The place "smoke": choose tests, start them, watch their results come, and end them at any moment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Button

from gpudoctor.facts import Facts
from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.report.smoke import smoke_entries
from gpudoctor.smoketests.options import ChoiceError
from gpudoctor.tui.footer import Footer
from gpudoctor.tui.header import Header
from gpudoctor.tui.session import Session
from gpudoctor.tui.smoke import words
from gpudoctor.tui.smoke.chooser import SmokeChooser
from gpudoctor.tui.smoke.control import SmokeControl
from gpudoctor.tui.smoke.findings import SmokeFindings
from gpudoctor.tui.smoke.lines import findings, verdict, with_comparisons
from gpudoctor.tui.smoke.results import SmokeResults
from gpudoctor.tui.smoke.runner import SmokeRunner
from gpudoctor.tui.smoke.selection import Changed

if TYPE_CHECKING:
    from gpudoctor.tui.app import Doctor

TICK = 0.25  # seconds between two looks at the clock while tests run


class SmokeScreen(Screen[None]):
    """The screen; a run goes on while the user is elsewhere."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - typed by Screen
    AUTO_FOCUS = "#tests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "start", "Start", tooltip="Run the selected tests"),
        Binding("s", "halt", "Stop", tooltip="Stop the run now; measured results are kept"),
        Binding("escape", "halt", "Stop", show=False, tooltip="Stop the run now; measured results are kept"),
        Binding("a", "all", "All or none", tooltip="Select all or none of a list"),
        Binding("v", "turn", "Tests or results", tooltip="Switch between tests and results"),
        Binding("d", "explain", "Why", tooltip="Show the finding on the diagnosis screen"),
    ]
    DEFAULT_CSS = """
    SmokeScreen {
        #smoke { height: 1fr; layout: horizontal; }
        #smoke-outcome { width: 1fr; }
        #smoke-results { height: 1fr; }
        &.-wide #smoke-choose { width: 38%; max-width: 84; border-right: vkey $panel; }
        &.-narrow #smoke-choose { width: 1fr; layout: horizontal; overflow: hidden; }
        &.-narrow #smoke-left { width: 1fr; padding-right: 1; height: 100%; overflow-y: auto; }
        &.-narrow #smoke-right { width: 32; height: 100%; overflow-y: auto; scrollbar-size-vertical: 1; }
        &.-narrow #backends-heading { margin-top: 0; }
        &.-narrow #smoke-outcome { display: none; }
        &.-narrow.-results #smoke-outcome { display: block; }
        &.-narrow.-results #smoke-choose, &.-recorded #smoke-choose { display: none; }
    }
    """

    @property
    def doctor(self) -> Doctor:
        """The application."""
        return cast("Doctor", self.app)

    @property
    def session(self) -> Session:
        """The model."""
        return self.doctor.session

    @property
    def runner(self) -> SmokeRunner:
        """What runs the tests."""
        return self.query_one(SmokeRunner)

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Header()
        yield SmokeControl()
        with Container(id="smoke"):
            yield SmokeChooser()
            with Vertical(id="smoke-outcome"):
                yield SmokeResults()
                yield SmokeFindings()
        yield SmokeRunner()
        yield Footer()

    def on_mount(self) -> None:
        """Show what is there, and follow."""
        self._looking_ahead = True
        self._here = self._is_here()
        self._clock = self.set_interval(TICK, self._tell, pause=True)
        if not self.session.source.live:
            self.add_class("-recorded", "-results")
            self.query_one(SmokeControl).add_class("-never")
            self.query_one(SmokeResults).focus()
        self.doctor.changed.subscribe(self, self.refresh_from)
        self.refresh_from(self.session)

    def _is_here(self) -> bool:
        """Whether the running system is checked; one that is gone says so when tests are started."""
        try:
            return self.session.source.make().here
        except Exception:
            return True

    # -- what is shown ---------------------------------------------------------------------------------------

    def refresh_from(self, session: Session) -> None:
        """Show the session; where the machine is checked again, the tests have ended."""
        if session.running and self.runner.running:
            self.runner.halt()
        self.query_one(SmokeChooser).offer(session.facts)
        self._show()

    def _show(self) -> None:
        """The results and what they come to."""
        course = self.runner.course
        facts, report = self._basis()
        entries = course.entries if course else smoke_entries(facts) if facts else ()
        nothing = words.FIRST if self.session.source.live else words.NOT_RECORDED
        running = self.runner.running
        shown = with_comparisons(entries, running, facts.smoke.price if facts else None)
        self.query_one(SmokeResults).show(shown, nothing, along=running)
        open_ = course is not None and course.report is None
        found = self.query_one(SmokeFindings)
        said = [] if open_ else verdict(facts, report)
        if course is not None and course.report is not None and facts is not self.session.facts:
            said = [(words.OLD, "warn"), *said]
        found.show(() if open_ else findings(report), said)
        self._tell()

    def _basis(self) -> tuple[Facts | None, Report | None]:
        """The facts with what was measured last, and the report on them."""
        course = self.runner.course
        if course is not None and course.report is not None:
            return course.facts, course.report
        return self.session.facts, self.session.report

    @on(Changed)
    def _chosen_again(self) -> None:
        """What would run is of more interest than how the last run ended."""
        self._looking_ahead = True
        self._tell()

    def _tell(self) -> None:
        """What goes on, what would, or why nothing can."""
        control, chooser, course = self.query_one(SmokeControl), self.query_one(SmokeChooser), self.runner.course
        chooser.disabled = self.runner.running
        why = words.hindrance(self.session, self._here)
        if course is not None and course.running:
            control.follow(course, time.monotonic())
        elif why:
            control.say(why, able=False)
        elif course is not None and not self._looking_ahead:
            control.say(words.came_out(course))
        else:
            control.say(self._planned())
        self.refresh_bindings()

    def _planned(self) -> str:
        try:
            return words.planned(self.session.facts, self.query_one(SmokeChooser).choice)
        except ChoiceError as error:
            return str(error)

    # -- a run -----------------------------------------------------------------------------------------------

    def action_start(self) -> None:
        """Run what is chosen."""
        session, facts = self.session, self.session.facts
        why = words.hindrance(session, self._here)
        try:
            if facts is None or why:
                raise ChoiceError(why)
            choice = self.query_one(SmokeChooser).choice
            self.runner.begin(session.source.make(), facts, choice, session.source.options)
        except Exception as error:  # it cannot be run, or an interpreter or a directory is not there any more
            self.notify(str(error) or type(error).__name__, severity="warning", markup=False)
            return
        self.add_class("-results")
        self._clock.resume()
        self._show()
        self.query_one(SmokeResults).focus()

    def action_halt(self) -> None:
        """End the run."""
        self.runner.halt()

    @on(Button.Pressed, "#go")
    def _pressed(self) -> None:
        if self.runner.running:
            self.action_halt()
        else:
            self.action_start()

    @on(SmokeRunner.Moved)
    def _moved(self, message: SmokeRunner.Moved) -> None:
        if message.measured:
            self._show()
        else:
            self._tell()

    @on(SmokeRunner.Ended)
    def _ended(self, message: SmokeRunner.Ended) -> None:
        """What was measured belongs to the session's report, unless the machine is checked again by now."""
        self._clock.pause()
        self._looking_ahead = False
        if message.course.judged and not self.session.running:
            for event in message.course.judged:
                self.session.take(event)
            self.doctor.changed.publish(self.session)
        self._show()
        if self.app.screen is not self:
            self.notify(words.came_out(message.course), title="Smoke tests", markup=False)

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Keys that do nothing now are not listed."""
        if not self.is_mounted or not self.query(SmokeRunner):
            return True
        live, running = self.session.source.live, self.runner.running
        able = {
            "start": live and not running,
            "all": live and not running,
            "halt": running,
            "turn": live and self.has_class("-narrow"),
            "explain": bool(self.query_one(SmokeFindings).findings),
        }
        return (None if self.why_not(action) else False) if not able.get(action, True) else True

    def why_not(self, action: str) -> str:
        """Why an action is not offered now, in a sentence for the palette; empty: it is."""
        if action == "start" and not self.runner.running:
            return words.hindrance(self.session, self._here)
        return "No tests are running." if action == "halt" and not self.runner.running else ""

    def action_all(self) -> None:
        """Choose all of a list, or none."""
        self.query_one(SmokeChooser).all_or_none()

    def action_turn(self) -> None:
        """From the choice to the results and back."""
        self.toggle_class("-results")
        self.query_one("#smoke-results" if self.has_class("-results") else "#tests").focus()

    async def action_explain(self) -> None:
        """The diagnosis of the highlighted finding."""
        chosen = self.query_one(SmokeFindings).chosen
        if chosen is not None:
            await self._explain(chosen)

    @on(SmokeFindings.Chosen)
    async def _chosen(self, message: SmokeFindings.Chosen) -> None:
        await self._explain(message.finding)

    async def _explain(self, finding: FindingEntry) -> None:
        """Go to the diagnosis, where the finding is selected."""
        from gpudoctor.tui.diagnosis.screen import DiagnosisScreen as Diagnosis

        await self.app.switch_mode("diagnosis")
        if isinstance(self.app.screen, Diagnosis):
            self.app.screen.reveal(f"{finding.check} {finding.subject}")
