"""Draws the machine: what hangs on which processor by how many lanes, and what NVLink joins."""

from __future__ import annotations

from markupsafe import Markup

from gpudoctor.facts import Facts
from gpudoctor.report.model import Report
from gpudoctor.report.renderers import svg
from gpudoctor.report.renderers.html_tree import DrawnBox, rows

WIDTH = 344  # of the picture: a phone's screen shows it as it is
STEP = 14  # of a box below another
LINE, GAP = 15, 8
SIDE = 26  # room at the right for NVLink


def machine(facts: Facts, report: Report) -> Markup:
    """The picture; empty where no device is known."""
    drawn = rows(facts, report)
    if not drawn:
        return Markup()
    joined = sum(row.linked for row in drawn) > 1
    right = WIDTH - (SIDE if joined else 4)
    shapes: list[str] = []
    tops: list[tuple[DrawnBox, float]] = []
    y = 4.0
    for row in drawn:
        tops.append((row, y))
        y += _height(row) + GAP
    for place, (row, top) in enumerate(tops):
        shapes += _hanging(row, top, tops[:place])
    for row, top in tops:
        shapes += _box(row, top, right)
    if joined:
        shapes += _nvlink([top + _height(row) / 2 for row, top in tops if row.linked], right)
    return svg.picture(WIDTH, y, _title(drawn), shapes, "machine")


def _height(row: DrawnBox) -> float:
    return len(row.lines) * LINE + (13 if row.used is not None else 8)


def _left(row: DrawnBox) -> float:
    return 4.0 + row.depth * STEP


def _box(row: DrawnBox, top: float, right: float) -> list[str]:
    left, height = _left(row), _height(row)
    room = right - left - 12
    shapes = [svg.box(left, top, right - left, height, " ".join(filter(None, ("box", row.kind, row.mark))))]
    for number, words in enumerate(row.lines):
        last = row.mark and words.startswith(("NARROW", "FAIL", "WARN", "ADVICE"))
        look = f"said {row.mark}" if last else "name" if number == 0 else "more"
        shapes.append(svg.text(left + 6, top + 14 + number * LINE, words, look, room * (0.9 if look != "more" else 1)))
    if row.used is not None:
        shapes.append(svg.box(left + 6, top + height - 8, room, 4, "memory", 2))
        shapes.append(svg.box(left + 6, top + height - 8, room * min(1.0, row.used), 4, "used", 2))
    return shapes


def _hanging(row: DrawnBox, top: float, above: list[tuple[DrawnBox, float]]) -> list[str]:
    """The line to the box above: as thick as it has lanes."""
    parent = next(((one, y) for one, y in reversed(above) if one.depth < row.depth), None)
    if parent is None:
        return []
    x, middle = _left(parent[0]) + 6, top + min(_height(row) / 2, 18)
    thick = 1.5 if row.link is None else 1.0 + row.link.width / 4
    narrow = "narrow" if any(words.startswith("NARROW LINK") for words in row.lines) else ""
    begin = parent[1] + _height(parent[0])
    return [svg.line([(x, begin), (x, middle), (_left(row), middle)], " ".join(filter(None, ("link", narrow))), thick)]


def _nvlink(middles: list[float], right: float) -> list[str]:
    x = right + 9
    shapes = [svg.line([(right, y), (x, y)], "nvlink", 3) for y in middles]
    shapes.append(svg.line([(x, middles[0]), (x, middles[-1])], "nvlink", 3))
    middle = (middles[0] + middles[-1]) / 2
    return [
        *shapes,
        f'<text x="{WIDTH - 5:g}" y="{middle:g}" class="more" text-anchor="middle" '
        f'transform="rotate(-90 {WIDTH - 5:g} {middle:g})">NVLink</text>',
    ]


def _title(drawn: list[DrawnBox]) -> str:
    """What the picture shows, for those who cannot see it: every box with its words."""
    return "The machine: " + "; ".join(", ".join(row.lines) for row in drawn)
