"""The picture of a spread: from min to max, p5 to p95, the median, and the outliers."""

from markupsafe import Markup

from gpudoctor.fleet.summary import Spread
from gpudoctor.report.numbers import amount
from gpudoctor.report.renderers.svg import box, line, picture

WIDE, HIGH = 320.0, 22.0


def drawn(spread: Spread) -> Markup:
    """The picture, with its figures as the title that a screen reader says."""
    middle = HIGH / 2

    def at(value: float) -> float:
        reach = spread.most - spread.least
        place = (value - spread.least) / reach if reach > 0 else 0.5
        return 2 + (WIDE - 4) * (min(1.0, max(0.0, place)) if place == place else 0.5)  # not a number is unlike itself

    low, median, high = at(spread.low), at(spread.median), at(spread.high)
    shapes = [
        line([(at(spread.least), middle), (at(spread.most), middle)], "link"),
        box(low, 5, max(1.0, high - low), HIGH - 10, "bar", 1),
        line([(median, 2), (median, HIGH - 2)], "tick", 2),
        *(line([(at(o.value), 4), (at(o.value), HIGH - 4)], "apart", 2) for o in spread.outliers),
    ]
    title = f"{amount(spread.least)} to {amount(spread.most)} {spread.unit}, median {amount(spread.median)}"
    return picture(WIDE, HIGH, title, shapes, "spread")
