"""The choice: which tests run, with what, on what, in which data types, and how long stress lasts."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static

from gpudoctor.facts import Facts
from gpudoctor.smoketests.options import SmokeOptions
from gpudoctor.smoketests.suite import BY_NAME
from gpudoctor.tui.smoke.options import HEADINGS, Groups, choice, groups
from gpudoctor.tui.smoke.selection import Changed, SmokePicks, StressSeconds


class SmokeChooser(VerticalScroll, can_focus=False):
    """The lists; side by side where the screen is narrow, one beneath the other next to the results."""

    DEFAULT_CSS = """
    SmokeChooser {
        padding: 0 1; scrollbar-size-vertical: 1;
        & > Vertical { height: auto; }
        .group { color: $text-muted; text-style: bold; margin-top: 1; }
        #tests-heading { margin-top: 0; }
        #shows { color: $text-muted; height: 2; margin-top: 1; }
        #stress { layout: horizontal; height: 1; margin-top: 1; }
        #stress > Static { width: auto; color: $text-muted; text-style: bold; padding-right: 2; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="smoke-choose")
        self.groups: Groups = groups(None)

    def compose(self) -> ComposeResult:
        """Its widgets."""
        with Vertical(id="smoke-left"):
            yield from self._group("tests")
            yield Static(id="shows", markup=False)
        with Vertical(id="smoke-right"):
            for name in ("backends", "devices", "dtypes"):
                yield from self._group(name)
            with Vertical(id="stress"):
                yield Static("Stress test", markup=False)
                yield StressSeconds()

    def _group(self, name: str) -> ComposeResult:
        yield Static(HEADINGS[name], id=f"{name}-heading", classes="group", markup=False)
        yield SmokePicks(name)

    def on_mount(self) -> None:
        """The tests are the same on every machine."""
        self.offer(None)

    def offer(self, facts: Facts | None) -> None:
        """Show what this machine has."""
        self.groups = groups(facts)
        for name, options in self.groups.items():
            self.query_one(f"#{name}", SmokePicks).offer(options)

    @property
    def choice(self) -> SmokeOptions:
        """What is chosen.

        Raises:
            ChoiceError: nothing is chosen in a group.
        """
        picked = {name: self.query_one(f"#{name}", SmokePicks).picked for name in self.groups}
        return choice(self.groups, picked, self.query_one(StressSeconds).value)

    def all_or_none(self) -> None:
        """Toggle all of the list that has the focus, else all tests."""
        focused = self.screen.focused
        (focused if isinstance(focused, SmokePicks) else self.query_one("#tests", SmokePicks)).all_or_none()

    @on(Changed)
    def _count(self) -> None:
        picks = self.query_one("#tests", SmokePicks)
        heading = f"{HEADINGS['tests']}  {len(picks.picked)} of {len(picks.items)}"
        self.query_one("#tests-heading", Static).update(heading)

    @on(OptionList.OptionHighlighted, "#tests")
    def _explain(self, event: OptionList.OptionHighlighted) -> None:
        """What the test shows, in full: its line may be cut."""
        name = self.groups["tests"][event.option_index].value
        self.query_one("#shows", Static).update(f"{name}: {BY_NAME[name].shows}.")
