"""A row of the smoke benchmark: what was measured, beside what, and whether the goal holds."""

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One figure of ours, and what it is held against.

    Attributes:
        what: it is, for people.
        ours: our figure; None: not measured.
        peers: the figure beside it; None: it is held against nothing but the goal.
        unit: of both.
        sign: of the goal: ">=", "<=" or "within"; empty: for information.
        goal: what `ratio` is held against.
        why: it was not measured, or what belongs to it.
        failed: it should have been measured, and could not.
    """

    what: str
    ours: float | None = None
    peers: float | None = None
    unit: str = ""
    sign: str = ""
    goal: float | None = None
    why: str = ""
    failed: bool = False

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's; ours alone, where there is no peer."""
        if self.ours is None or self.peers is None:
            return self.ours
        return self.ours / self.peers if self.peers else None

    @property
    def holds(self) -> bool | None:
        """Whether the goal holds; None where there is none, or where nothing can be measured here."""
        if self.failed:
            return False
        if self.goal is None or self.ratio is None:
            return None
        if self.sign == "within":
            return abs(self.ratio - 1) <= self.goal
        return self.ratio >= self.goal if self.sign == ">=" else self.ratio <= self.goal

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return self._asdict() | {"ratio": self.ratio, "holds": self.holds}

    def line(self) -> str:
        """For people."""
        if self.ours is None:
            return f"{self.what:<56} {'FAILED' if self.failed else 'not measured'}: {self.why}"
        beside = f"{number(self.peers):>10} {number(self.ratio):>8}" if self.peers is not None else " " * 19
        goal = f"{self.sign} {self.goal:g}" if self.goal is not None else ""
        verdict = {None: "", True: "holds", False: "MISSED"}[self.holds]
        end = f"  ({self.why})" if self.why else ""
        return f"{self.what:<56} {number(self.ours):>10} {beside} {self.unit:<9} {goal:<12} {verdict}{end}".rstrip()


HEAD = f"{'':<56} {'ours':>10} {'peer':>10} {'ratio':>8} {'unit':<9} {'goal':<12}"


def number(value: float | None) -> str:
    """Four digits that count."""
    return "" if value is None else f"{value:.4g}" if abs(value) < 10000 else f"{value:.0f}"


def variation(values: Sequence[float]) -> float:
    """The coefficient of variation: standard deviation over mean."""
    mean = statistics.fmean(values)
    return statistics.stdev(values) / abs(mean) if mean and len(values) > 1 else 0.0
