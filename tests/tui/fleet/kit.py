"""The application with a fleet that was made by hand, and what tests of its place do with it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from textual.pilot import Pilot

from gpudoctor.fleet.summary import Fleet
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.diagnosis.detail import FindingDetail
from gpudoctor.tui.fleet.fleet_list import FleetList
from gpudoctor.tui.fleet.grid import NodeGrid
from gpudoctor.tui.session import SessionSource
from tests.fleet import fleets
from tests.tui.screens import run, settled, text_of

PATHS = ("/data/run-7",)
SUMMARY = "gpudoctor.tui.fleet.reading.summary"


class There:
    """The place, once its fleet is there."""

    def __init__(self, pilot: Pilot[Any]) -> None:
        assert isinstance(pilot.app, Doctor)
        self.pilot, self.app = pilot, pilot.app

    async def press(self, *keys: str) -> None:
        """Type, and wait for what comes of it."""
        for key in keys:
            await self.pilot.press(key)
        await settled(self.pilot)

    async def until(self, come: Callable[[], object]) -> None:
        """Wait for something."""
        await settled(self.pilot, come)

    @property
    def text(self) -> str:
        """The screen."""
        return "\n".join(text_of(self.app))

    @property
    def grid(self) -> NodeGrid:
        """The nodes."""
        return self.app.screen.query_one(NodeGrid)

    @property
    def list(self) -> FleetList:
        """What is said."""
        return self.app.screen.query_one(FleetList)

    @property
    def detail(self) -> str:
        """What is said of the selected one."""
        lines = self.app.screen.query_one(FindingDetail).page.lines
        return "\n".join(f"{line.label}: {line.text}" if line.label else line.text for line in lines)

    @property
    def lit(self) -> set[str]:
        """The names of the marked nodes."""
        grid = self.grid
        assert grid.nodes is not None
        return {grid.nodes.names[node] for node in grid.marks.lit or ()}


def at(
    patch: pytest.MonkeyPatch,
    fleet: Fleet,
    what: Callable[[There], Awaitable[object]],
    size: tuple[int, int] = (120, 40),
    colour: bool = True,
    paths: Sequence[str] = PATHS,
) -> Doctor:
    """Open the application on a fleet, wait until it is shown, and do something with it."""
    patch.delenv("NO_COLOR", raising=False)
    if not colour:
        patch.setenv("NO_COLOR", "1")
    patch.setattr(SUMMARY, lambda _, tell: tell(100) or fleet)

    async def do(pilot: Pilot[Any]) -> None:
        there = There(pilot)
        await there.until(lambda: there.app.fleet.fleet is not None)
        await there.until(lambda: there.app.screen.query(NodeGrid) and there.grid.nodes is not None)
        await what(there)

    app = run(lambda: Doctor(SessionSource(), colour, tuple(paths)), do, size)
    assert isinstance(app, Doctor)
    return app


LARGE, SMALL = fleets.FLEETS["large"], fleets.FLEETS["small"]
