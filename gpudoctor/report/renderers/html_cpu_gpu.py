"""Draws the comparison of a GPU with the CPU for the page: a line for each device over the sizes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpudoctor.report.cpu_gpu_model import ComparedPart
from gpudoctor.report.cpu_gpu_plot import NAMES, SpeedPlot, described, plot, power
from gpudoctor.report.cpu_gpu_words import AXES, HEADINGS
from gpudoctor.report.renderers import svg

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 560, 230
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 26, 34
DOT = 3.5  # half its width
LETTERS = 6.1  # width of a letter


def picture(part: ComparedPart) -> Markup | str:
    """The plot of a part; empty where there is nothing to draw."""
    drawn = plot(part)
    if drawn is None:
        return ""
    shapes = [*_scales(drawn, AXES[part.part]), *_pays(part, drawn), *_legend(drawn)]
    for curve in drawn.curves:
        points = [
            (_x(drawn, size), _y(drawn.height(speed)))
            for size, speed in zip(drawn.sizes, curve.speeds, strict=True)
            if speed
        ]
        shapes.append(svg.line(points, f"curve {curve.device}", 2))
        shapes += [svg.box(x - DOT, y - DOT, 2 * DOT, 2 * DOT, f"dot {curve.device}", DOT) for x, y in points]
    return svg.picture(WIDTH, HEIGHT, described(drawn, HEADINGS[part.part]), shapes, "plot")


def _x(drawn: SpeedPlot, size: int) -> float:
    low, high = (math.log10(one) for one in (drawn.sizes[0], max(drawn.sizes[-1], drawn.sizes[0] + 1)))
    return round(LEFT + 14 + (WIDTH - LEFT - RIGHT - 40) * (math.log10(size) - low) / (high - low), 1)


def _y(height: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * height, 1)


def _scales(drawn: SpeedPlot, axis: str) -> list[str]:
    shapes = []
    step = max(1, round((drawn.high - drawn.low) / 5))
    for exponent in range(round(drawn.low), round(drawn.high) + 1, step):
        y = _y((exponent - drawn.low) / (drawn.high - drawn.low))
        shapes.append(svg.line([(LEFT, y), (WIDTH - RIGHT, y)], "grid"))
        shapes.append(svg.text(LEFT - 6, y + 4, power(exponent), "more", end=True))
    for size in drawn.sizes:
        name = f"{size:,}"
        shapes.append(svg.text(_x(drawn, size) - len(name) * LETTERS / 2, HEIGHT - BOTTOM + 15, name, "more"))
    shapes.append(svg.text(LEFT, 12, drawn.unit, "more", end=True))
    return [*shapes, svg.text(WIDTH - RIGHT, HEIGHT - 4, axis, "more", end=True)]


def _pays(part: ComparedPart, drawn: SpeedPlot) -> list[str]:
    """Where the GPU begins to pay; nothing where it does at every size, or at none."""
    found = part.pays_from_with_copies or part.pays_from
    if found is None or found == drawn.sizes[0]:
        return []
    x, label = _x(drawn, found), "GPU pays off from here" + (", with copies" if part.pays_from_with_copies else "")
    return [
        svg.line([(x, _y(0)), (x, _y(1))], "pays"),
        svg.text(x - 5, _y(0) - 6, label, "more", end=True),
    ]


def _legend(drawn: SpeedPlot) -> list[str]:
    shapes, x = [], float(LEFT + 14)
    for curve in drawn.curves:
        shapes.append(svg.line([(x, 8), (x + 20, 8)], f"curve {curve.device}", 2))
        shapes.append(svg.text(x + 26, 12, NAMES[curve.device], "name"))
        x += 46 + len(NAMES[curve.device]) * LETTERS
    return shapes
