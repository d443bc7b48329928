"""With what a machine can be compared: itself earlier, files of the working directory, machines that ship with us."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from gpudoctor.comparison import ComparedMachine, read, side
from gpudoctor.tui.compare import saved_facts

MOST = 50


class CompareChoice(NamedTuple):
    """One of them.

    Attributes:
        group: the heading under which it stands.
        name: for people.
        target: a path, or the name of a demo.
        demo: whether it is a demo.
    """

    group: str
    name: str
    target: str
    demo: bool = False

    def read(self) -> ComparedMachine:
        """Its side of a comparison.

        Raises:
            FactsFileError: it cannot be read, or is neither facts nor a report.
        """
        if not self.demo:
            return read(self.target)
        from gpudoctor import demo

        return side(f"demo: {self.target}", demo.load(self.target))


def choices(env: Mapping[str, str], here: str | None) -> list[CompareChoice]:
    """All of them, in the order in which somebody would look for one.

    Args:
        env: the environment, which says where facts are kept.
        here: the working directory; None: its files are not offered.
    """
    from gpudoctor.demo import DEMOS

    kept = [
        CompareChoice("This machine, saved earlier", _date(path), path)
        for path in saved_facts.kept(saved_facts.folder(env))
    ]
    files = (
        [CompareChoice("Files in this directory", name, os.path.join(here, name)) for name in _files(here)]
        if here
        else []
    )
    demos = [CompareChoice("Recorded machines", f"{name}: {message}", name, True) for name, message in DEMOS.items()]
    return [*kept[:MOST], *files[:MOST], *demos]


def typed(text: str, here: str) -> CompareChoice:
    """What somebody typed: a path, `~` for the home."""
    path = os.path.join(here, os.path.expanduser(text))
    return CompareChoice("", os.path.basename(path), path)


def _date(path: str) -> str:
    """2026-11-21-213000 as 2026-11-21 21:30:00."""
    name = os.path.basename(path).removeprefix(saved_facts.PREFIX).removesuffix(saved_facts.SUFFIX)
    day, clock = name[:10], name[11:]
    return f"{day} {clock[:2]}:{clock[2:4]}:{clock[4:]}" if len(clock) == 6 and clock.isdigit() else name


def _files(here: str) -> list[str]:
    try:
        names = os.listdir(here)
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(".json") and os.path.isfile(os.path.join(here, name)))
