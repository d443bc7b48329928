"""The states of a node as the grid shows them: a letter, the class of its color, and words."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.fleet.summary import STATES
from gpudoctor.tui.diagnosis.commands import one_line


class StateStyle(NamedTuple):
    """How a state looks.

    Attributes:
        letter: in the grid; none stands for two states.
        style: of gpudoctor.tui.fleet.grid_layout.
        words: for people.
    """

    letter: str
    style: str
    words: str


LOOKS = {
    "fail": StateStyle("F", "fail", "fail"),
    "incomplete": StateStyle("I", "open", "incomplete"),
    "failed": StateStyle("E", "lost", "no report"),
    "timed out": StateStyle("T", "lost", "timed out"),
    "unreachable": StateStyle("U", "lost", "unreachable"),
    "refused": StateStyle("R", "lost", "refused"),
    "not asked": StateStyle("N", "lost", "not asked"),
    "unreadable": StateStyle("X", "lost", "unreadable"),
    "stale": StateStyle("S", "lost", "stale report"),
    "no-gpu": StateStyle("G", "warn", "NO GPU"),
    "warn": StateStyle("W", "warn", "warn"),
    "cpu-only": StateStyle("C", "pass", "CPU only"),
    "pass": StateStyle("·", "pass", "pass"),
}
OTHER = StateStyle("+", "open", "")  # of a later release


def look(state: str) -> StateStyle:
    """How a state looks; one that this release does not know is named."""
    return LOOKS.get(state) or OTHER._replace(words=one_line(state))


def ranked(states: dict[str, int]) -> list[str]:
    """The states, worst first."""
    known = [state for state in STATES if state in states]
    return [*known, *(state for state in states if state not in STATES)]
