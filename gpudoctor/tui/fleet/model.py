"""Which fleet is looked at, and what was read of it so far: the model behind the place, without any widget."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.fleet.summary import Fleet
    from gpudoctor.tui.fleet.entries import FleetEntry
    from gpudoctor.tui.fleet.nodes import Nodes


class Opened:
    """A fleet.

    Args:
        paths: directories and files with its reports; none: no fleet was opened.

    Attributes:
        fleet: its summary; None: it was not read to its end yet.
        nodes: of the summary.
        entries: what is said of it.
        done: reports that were read so far.
        running: whether it is read now; what was read before stays meanwhile.
        note: what could not be said of it, in a sentence; empty: nothing.
        error: why it cannot be read, in a sentence; empty: it can.
    """

    def __init__(self, paths: tuple[str, ...] = ()) -> None:
        self.paths = paths
        self.fleet: Fleet | None = None
        self.nodes: Nodes | None = None
        self.entries: list[FleetEntry] = []
        self.done = 0
        self.running = False
        self.note = self.error = ""

    @property
    def title(self) -> str:
        """For people: "run-7"."""
        if not self.paths:
            return ""
        first = os.path.basename(self.paths[0].rstrip("/")) or self.paths[0]
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{first}{more}"

    def take(self, fleet: Fleet, nodes: Nodes, entries: list[FleetEntry], note: str) -> None:
        """It was read to its end."""
        self.fleet, self.nodes, self.entries, self.note = fleet, nodes, entries, note
        self.running, self.error = False, ""

    def fail(self, error: str) -> None:
        """It cannot be read; what was read before stays."""
        self.running, self.error = False, error
