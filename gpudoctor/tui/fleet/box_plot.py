"""A measured value over all devices of a group, drawn on one line: the range, the bulk, the median, the outliers."""

from __future__ import annotations

from gpudoctor.fleet.summary import Spread
from gpudoctor.report.numbers import amount
from gpudoctor.tui.diagnosis.commands import one_line

LONGEST = 12  # signs of a unit
RANGE, BULK, MEDIAN, OUTLIER = "─", "━", "┿", "●"


def drawn(spread: Spread, width: int) -> str:
    """The line.

    Args:
        spread: of the values.
        width: columns; the least value stands at the left end, the most at the right one.
    """
    if width <= 0:
        return ""
    values = [outlier.value for outlier in spread.outliers]
    least, most = min([spread.least, *values]), max([spread.most, *values])

    def at(value: float) -> int:
        share = (value - least) / (most - least) if most > least else 0.5
        return min(width - 1, max(0, round(share * (width - 1)))) if share == share else 0  # not a number

    signs = [RANGE if at(spread.least) <= place <= at(spread.most) else " " for place in range(width)]
    for place in range(at(spread.low), at(spread.high) + 1):
        signs[place] = BULK
    signs[at(spread.median)] = MEDIAN
    for value in values:
        signs[at(value)] = OUTLIER
    return "".join(signs)


def scale(spread: Spread, width: int) -> str:
    """The line between its ends' values: "11.9 ●───━━┿━━──● 26.4 GB/s"."""
    values = [outlier.value for outlier in spread.outliers]
    low, high = amount(min([spread.least, *values])), amount(max([spread.most, *values]))
    unit = f" {one_line(spread.unit)[:LONGEST]}" if spread.unit else ""
    room = width - len(low) - len(high) - len(unit) - 2
    return f"{low} {drawn(spread, room)} {high}{unit}" if room >= 5 else f"{low} to {high}{unit}"
