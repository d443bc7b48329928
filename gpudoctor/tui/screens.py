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
    ScreenEntry("1", "diagnosis", "Diagnosis", "What is wrong, why, and what to type"),
    ScreenEntry("2", "gpus", "GPUs", "Each GPU's load, memory, heat and clocks over time"),
    ScreenEntry("3", "smoke", "Smoke tests", "Prove that the GPU computes, trains and copies right"),
    ScreenEntry("4", "environment", "Environment", "Pythons, frameworks, libraries, and every fact"),
    ScreenEntry("5", "compare", "Compare", "This machine beside another, or beside itself yesterday"),
)
# Shown among the others where a fleet was opened; its key leads there always.
FLEET = ScreenEntry("6", "fleet", "Fleet", "Many machines at once: what is wrong on which nodes")
ALL = (*PLACES, FLEET)
