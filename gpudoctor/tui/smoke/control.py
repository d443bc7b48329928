"""What runs, how far it is, and the button that starts and stops it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.smoke.lines import bar
from gpudoctor.tui.smoke.progress import Course, clock

LABELS = {"start": "▶ Start  s", "halt": "■ Stop  s", "stopping": "Stopping"}
LONGEST = 48  # columns of the bar


class SmokeControl(Horizontal):
    """The button, a line that says what goes on, and while tests run a bar over them."""

    DEFAULT_CSS = """
    SmokeControl {
        height: auto; padding: 0 1; margin: 0 0 1 0;
        Button { width: 14; min-width: 14; margin-right: 2; }
        Vertical { height: auto; width: 1fr; }
        Static { height: auto; }
        #bar { display: none; }
        &.-running #bar { display: block; }
        &.-never Button { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="smoke-control")

    def compose(self) -> ComposeResult:
        """Its widgets."""
        yield Button(LABELS["start"], variant="primary", compact=True, id="go", disabled=True)
        with Vertical():
            yield Static(id="message", markup=False)
            yield Static(id="bar", markup=False)

    def say(self, words: str, state: str = "start", able: bool = True) -> None:
        """Say something.

        Args:
            words: the line.
            state: what the button does: start, halt, or nothing more because it is stopping.
            able: whether it can do so now.
        """
        self.query_one("#message", Static).update(clean(words))
        button = self.query_one("#go", Button)
        button.label = LABELS[state]
        button.variant = "primary" if state == "start" else "error"
        button.disabled = not able or state == "stopping"
        self.set_class(state != "start", "-running")

    def follow(self, course: Course, now: float) -> None:
        """Show how far a run is."""
        stage, whole = course.seconds(now)
        parts = [course.title, course.place, course.stage, f"{stage:.0f} s"]
        words = "Stopping: measured results are kept" if course.stopping else "  ".join(filter(None, parts))
        self.say(words, "stopping" if course.stopping else "halt")
        beside = f"  {course.done} of {course.total} tests  {clock(whole)}"
        width = max(10, min(LONGEST, self.size.width - 18 - len(beside)))
        full, track = bar(course.share, width)
        line = Content.assemble((full, "$primary"), (track, "$foreground 20%"), beside)
        self.query_one("#bar", Static).update(line)
