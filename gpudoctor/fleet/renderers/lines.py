"""Folded nodes on lines, and a spread as a bar of signs that every terminal has."""

from gpudoctor.fleet.summary import Spread
from gpudoctor.report.sanitize import clean


def folded_lines(folded: str, width: int, most: int = 0) -> list[str]:
    """A folded set of nodes on harmless lines, broken after commas.

    Args:
        folded: the set.
        width: columns.
        most: lines; where there are more, the last one ends in three dots. 0: as many as it takes.
    """
    lines = [""]
    for part in clean(folded).replace("\n", " ").split(","):
        word = part if lines == [""] else "," + part
        if len(lines[-1]) + len(word) + 1 > width and lines[-1]:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] += word
    if not most or len(lines) <= most:
        return lines
    last = lines[most - 1]
    if len(last) + 3 > width:
        last = last[: max(1, width - 3)]
        last = last[: last.rfind(",") + 1] or last  # half a number would be another node's
    return [*lines[: most - 1], last + "..."]


def bar(spread: Spread, width: int) -> str:
    """Where values lie: `-` from min to max, `=` nine tenths of them, `|` the median, `*` outliers."""
    reach = spread.most - spread.least
    if not reach > 0 or reach == float("inf"):
        return "|"

    def at(value: float) -> int:
        place = (value - spread.least) / reach
        return round((width - 1) * min(1.0, max(0.0, place))) if place == place else 0  # not a number is unlike itself

    signs = ["-"] * width
    for place in range(at(spread.low), at(spread.high) + 1):
        signs[place] = "="
    for one in spread.outliers:
        signs[at(one.value)] = "*"
    signs[at(spread.median)] = "|"
    return "".join(signs)
