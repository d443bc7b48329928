"""The application at the place of the smoke tests, on a machine whose facts are already there."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import psutil
from textual.pilot import Pilot
from textual.widget import Widget

import gpudoctor.tui
from gpudoctor.facts import Facts
from gpudoctor.machine import Machine
from gpudoctor.pipeline import examine
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.session import SessionSource
from gpudoctor.tui.smoke.runner import SmokeRunner
from gpudoctor.tui.smoke.screen import SmokeScreen
from gpudoctor.tui.smoke.selection import SmokePicks
from tests.tui.screens import run, settled, text_of

ILL = str(Path(__file__).parents[2] / "smoke" / "faulty_worker.py")
What = Callable[["There"], Awaitable[object]]


class Examined(Doctor):
    """A machine that was examined at once: with these facts where it is a running one."""

    CSS_PATH = os.path.join(os.path.dirname(gpudoctor.tui.__file__), "style.tcss")
    DEFAULT_MODE = "smoke"
    facts: Facts | None = None

    def begin(self) -> None:
        """Take the facts; none: the examination goes on."""
        self.session.begin()
        facts = self.session.source.facts or self.facts
        if facts is not None:
            for event in examine(None, self.session.source.options, facts):
                self.session.take(event)
        self.changed.publish(self.session)


class There:
    """What a test works with."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        self.pilot, self.app = pilot, cast(Examined, pilot.app)
        self.place = cast(SmokeScreen, self.app.screen)

    async def press(self, *keys: str) -> None:
        """Press keys and wait for what they do."""
        await self.pilot.press(*keys)
        await settled(self.pilot)

    async def until(self, come: Callable[[], object], seconds: float = 60) -> None:
        """Wait for something."""
        await settled(self.pilot, come, seconds)

    @property
    def rows(self) -> list[str]:
        """The screen's text."""
        return text_of(self.app)

    @property
    def text(self) -> str:
        """The screen's text as one, with single blanks."""
        return " ".join(" ".join(self.rows).split())

    @property
    def runner(self) -> SmokeRunner:
        """What runs the tests."""
        return self.place.query_one(SmokeRunner)

    def picked(self, name: str) -> tuple[str, ...]:
        """What is chosen in a group."""
        return self.place.query_one(f"#{name}", SmokePicks).picked

    async def click(self, what: str, row: int = 0, column: int = 2) -> None:
        """Click on a widget, in its upper left corner or so."""
        widget = self.place.query_one(what, Widget)
        await self.pilot.click(widget, offset=(column, row))
        await settled(self.pilot)


def at(
    facts: Facts | None, what: What, size: tuple[int, int] = (120, 40), fault: str = "", colour: bool = True
) -> None:
    """Do something at the place, on a running machine that has these facts.

    Args:
        facts: of the machine; None: it is still examined.
        what: to do.
        size: columns and rows.
        fault: of the worker that runs the tests.
        colour: whether colors are wanted.
    """

    class Live(Examined):
        pass

    Live.facts = facts
    source = SessionSource(make=lambda: Machine(env={**os.environ, "FAULT": fault}))
    _run(lambda: Live(source, colour), what, size)


def recorded(facts: Facts, what: What, size: tuple[int, int] = (120, 40)) -> None:
    """Do something at the place of a recorded machine."""
    _run(lambda: Examined(SessionSource(title="recorded", facts=facts)), what, size)


def _run(make: Callable[[], Doctor], what: What, size: tuple[int, int]) -> None:
    async def do(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await what(There(pilot))

    run(make, do, size)


def children() -> set[int]:
    """Our processes."""
    return {process.pid for process in psutil.Process().children(recursive=True)}
