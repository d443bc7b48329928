"""Folded nodes on lines, and a spread as a bar of signs that every terminal has."""

from gpudoctor.fleet.aggregate.nodeset_expansion import shortened
from gpudoctor.fleet.summary import Spread
from gpudoctor.report.sanitize import clean


def folded_lines(folded: str, width: int, most: int = 0) -> list[str]:
    """A folded set of nodes on harmless lines, broken after commas.

    Args:
        folded: the set.
        width: columns.
        most: lines; of a set that needs more the first names are shown, and how many more there are. 0: as many as it
            takes.
    """
    text = clean(folded).replace("\n", " ")
    lines = _broken(text, width)
    room = width * most
    while most and len(lines) > most and room > 0:
        lines = _broken(shortened(text, room), width)
        room -= 4  # lines end at commas, so not all of their columns are filled
    return lines[:most] if most else lines


def _broken(text: str, width: int) -> list[str]:
    lines = [""]
    for part in text.split(","):
        word = part if lines == [""] else "," + part
        if len(lines[-1]) + len(word) + 1 > width and lines[-1]:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] += word
    return lines


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
