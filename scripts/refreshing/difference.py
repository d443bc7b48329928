"""One thing in which a table and its source differ."""

from collections.abc import Callable
from typing import Any, NamedTuple

Fetch = Callable[[str], bytes]  # gives what lies at an address; raises OSError


class Difference(NamedTuple):
    """What a table says, and what its source says now.

    Attributes:
        table: its name, without ".toml".
        path: keys and indices down to the value.
        have: what the table says; None: nothing.
        found: what the source says.
        source: its address.
        by_hand: what a person has to read before the table may say it; None: it can be written as it is.
    """

    table: str
    path: tuple[str | int, ...]
    have: Any
    found: Any
    source: str
    by_hand: str | None = None

    def __str__(self) -> str:
        where = ".".join(str(part) for part in self.path)
        hand = f"; by hand: {self.by_hand}" if self.by_hand else ""
        return f"{self.table}.toml {where}: {self.have!r} -> {self.found!r} ({self.source}{hand})"
