"""Which measured values are outliers from those of like hardware, by statistics that the ones apart do not move."""

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpudoctor.comparison.rules import COLD
from gpudoctor.fleet.aggregate.hardware import Body
from gpudoctor.fleet.aggregate.measurements import Column
from gpudoctor.fleet.summary import Outlier, Spread

# Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (ASQC Quality Press, 1993): a value is labelled where its
# modified z-score, 0.6745 (x - median) / MAD, is larger than 3.5; 0.6745 is 1 / 1.4826.
FAR = 3.5
SCALE = 1.4826  # the median absolute deviation of a normal distribution, times this, is its standard deviation
MEAN_SCALE = (
    1.2533  # and so the mean absolute deviation (the same source), where more than half of the values are equal
)
FEWEST = 5  # values; among fewer nobody can say which is the odd one
# Equal GPUs differ by 5 % (stas00/ml-engineering, as in gpudoctor.checks.smoke.slower_than_sisters): however far in
# deviations, less than this of the median matters to nobody.
MATTERS = 0.08
MAGNITUDE = 9.0  # errors are rounding and depend on the order of additions: ten times the usual one matters
LISTED = 20
_EXACT = 20_000  # values of which all are sorted; of more every second, third ... is


class OutlierRule(NamedTuple):
    """Which values of a figure are bad.

    Attributes:
        bad: 1: large ones; -1: small ones; 0: both.
        matters: the relative difference from the median from which on one is.
    """

    bad: int
    matters: float


def rule(figure: str, unit: str) -> OutlierRule:
    """The rule for a figure: pytorch.matmul bf16.rate, in TFLOP/s."""
    name = figure.rpartition(".")[2]
    if "error" in name:
        return OutlierRule(1, MAGNITUDE)
    if unit == "s":
        return OutlierRule(1, COLD if name in ("first call", "compile") else MATTERS)
    if "/s" in unit or name.startswith("speed-up") or name in ("overlap", "duplex", "last third"):
        return OutlierRule(-1, MATTERS)
    return OutlierRule(0, MATTERS)


def middle(values: Sequence[float]) -> tuple[float, float]:
    """The median of sorted values, and their robust standard deviation (0: there is none)."""
    if not values:
        return 0.0, 0.0
    median = _part(values, 0.5)
    off = sorted(abs(value - median) for value in values)
    return median, SCALE * _part(off, 0.5) or MEAN_SCALE * sum(off) / len(off)


def spreads(
    columns: Iterable[tuple[Body, tuple[str, str], Column]],
    groups: Mapping[Body, str],
    names: Sequence[str],
    only: Container[str] | None = None,
) -> Iterator[Spread]:
    """Each figure of each group, by name.

    Args:
        columns: what was measured.
        groups: the group of each body of hardware.
        names: of the nodes.
        only: nodes of which outliers are named; None: all.
    """
    found: dict[tuple[str, str, str], list[Column]] = {}
    for body, (figure, unit), column in columns:
        found.setdefault((groups.get(body, body.label), figure, unit), []).append(column)
    for (hardware, figure, unit), parts in sorted(found.items()):
        values = array("d")
        for part in parts:
            values.extend(part.values)
        if values:
            yield _spread(hardware, figure, unit, parts, sorted(values[:: len(values) // _EXACT + 1]), names, only)


def _spread(
    hardware: str,
    figure: str,
    unit: str,
    parts: list[Column],
    values: list[float],
    names: Sequence[str],
    only: Container[str] | None,
) -> Spread:
    median, deviation = middle(values)
    far = _far(parts, median, deviation, rule(figure, unit)) if len(values) >= FEWEST else []
    named = [
        Outlier(node=names[node], device=device, value=_short(value), deviations=round((value - median) / deviation, 1))
        for value, node, device in far
        if only is None or names[node] in only
    ]
    named.sort(key=lambda one: (-abs(one.deviations), one.node, one.device))
    return Spread(
        hardware=hardware,
        figure=figure,
        unit=unit,
        count=sum(part.rows for part in parts),
        least=_short(min(min(part.least, min(part.values, default=part.least)) for part in parts)),
        low=_short(_part(values, 0.05)),
        median=_short(median),
        high=_short(_part(values, 0.95)),
        most=_short(max(max(part.most, max(part.values, default=part.most)) for part in parts)),
        deviation=_short(deviation),
        outliers=tuple(named[:LISTED]),
        more=max(0, len(named) - LISTED),
    )


def _far(parts: list[Column], median: float, deviation: float, rule: OutlierRule) -> list[tuple[float, int, str]]:
    """The values that are outliers, on the side that is bad."""
    if not deviation:
        return []  # all are equal
    reach = max(FAR * deviation, rule.matters * abs(median))
    low = median - reach if rule.bad <= 0 else float("-inf")
    high = median + reach if rule.bad >= 0 else float("inf")
    found = []
    for part in parts:
        rows = (at for at, value in enumerate(part.values) if value < low or value > high)
        found += [(part.values[at], part.nodes[at], part.devices[at]) for at in rows]
        found += [one for one in part.apart if one[0] < low or one[0] > high]
    return found


def _part(values: Sequence[float], share: float) -> float:
    """The value below which a share of the sorted values lies; between two it is interpolated."""
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def _short(value: float) -> float:
    """Six digits: more were not measured."""
    return float(f"{value:.6g}")
