"""The places of the application in the order of their keys; each screen is loaded when somebody goes there."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from textual.screen import Screen


class ScreenEntry(NamedTuple):
    """One place.

    Attributes:
        key: that leads there.
        name: of the mode, and of its package under gpudoctor.tui.
        title: in the footer.
        shows: a sentence for help and palette.
    """

    key: str
    name: str
    title: str
    shows: str

    @property
    def screen(self) -> Callable[[], Screen[Any]]:
        """Makes the screen: `Place` of gpudoctor.tui.<name>.screen."""
        return lambda: getattr(import_module(f"gpudoctor.tui.{self.name}.screen"), f"{self.name.capitalize()}Screen")()


PLACES = (
    ScreenEntry("1", "diagnosis", "Diagnosis", "What is wrong, why, and the commands that fix it"),
    ScreenEntry("2", "gpus", "GPUs", "Utilization, memory, temperature and clocks over time"),
    ScreenEntry("3", "smoke", "Smoke tests", "Prove that the GPU computes, trains and copies correctly"),
    ScreenEntry("4", "environment", "Environment", "Python interpreters, frameworks, libraries and all facts"),
    ScreenEntry("5", "compare", "Compare", "This machine vs. another one, or vs. an earlier state"),
)
# Shown among the others where a fleet was opened; its key leads there always.
FLEET = ScreenEntry("6", "fleet", "Fleet", "Many machines: what is wrong on which nodes")
ALL = (*PLACES, FLEET)
