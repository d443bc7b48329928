"""The states of a node as the grid shows them: a letter, the class of its colour, and words."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.fleet.summary import STATES
from gpudoctor.tui.diagnosis.commands import one_line


class Look(NamedTuple):
    """How a state looks.

    Attributes:
        letter: in the grid; none stands for two states.
        style: of gpudoctor.tui.fleet.tiles.
        words: for people.
    """

    letter: str
    style: str
    words: str


LOOKS = {
    "fail": Look("F", "fail", "fail"),
    "incomplete": Look("I", "open", "incomplete"),
    "failed": Look("X", "lost", "failed, no report"),
    "timed out": Look("T", "lost", "timed out"),
    "unreachable": Look("U", "lost", "unreachable"),
    "refused": Look("R", "lost", "refused"),
    "not asked": Look("N", "lost", "not asked"),
    "unreadable": Look("?", "lost", "unreadable"),
    "no-gpu": Look("G", "warn", "NO GPU"),
    "warn": Look("W", "warn", "warn"),
    "pass": Look("·", "pass", "pass"),
}
OTHER = Look("+", "open", "")  # of a later release


def look(state: str) -> Look:
    """How a state looks; one that this release does not know is named."""
    return LOOKS.get(state) or OTHER._replace(words=one_line(state))


def ranked(states: dict[str, int]) -> list[str]:
    """The states, worst first."""
    known = [state for state in STATES if state in states]
    return [*known, *(state for state in states if state not in STATES)]
