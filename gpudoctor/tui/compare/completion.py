"""Completes a path while it is typed: directories, and the JSON files in them."""

from __future__ import annotations

import os

from textual.suggester import Suggester

from gpudoctor.tui.compare.background import answer

MOST = 5000  # names of one directory that are looked through


def completed(text: str, here: str) -> str | None:
    """The text with the first name that fits; None: none does.

    Args:
        text: what was typed so far.
        here: the directory that a relative path starts from.
    """
    if not text:
        return None
    typed, beginning = os.path.split(text)
    folder = os.path.join(here, os.path.expanduser(typed))
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry, _ in zip(found, range(MOST), strict=False) if entry.name.startswith(beginning)]
        fitting = sorted(e.name + "/" * e.is_dir() for e in entries if e.is_dir() or e.name.endswith(".json"))
    except OSError:
        return None
    shown = [name for name in fitting if beginning.startswith(".") or not name.startswith(".")]
    rest = next((name[len(beginning) :] for name in shown if len(name) > len(beginning)), None)
    return text + rest if rest else None


class PathSuggester(Suggester):
    """Offers completions to an Input."""

    def __init__(self, here: str) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.here = here

    async def get_suggestion(self, value: str) -> str | None:
        """The completion of what stands in the Input."""
        return await answer(lambda: completed(value, self.here))
