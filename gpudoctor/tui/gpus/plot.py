"""The widget of one chart: its title with the newest value, and the values over time beneath it."""

from __future__ import annotations

import textwrap

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from gpudoctor.maybe import Unknown
from gpudoctor.monitor.snapshot import STILL, Snapshot, Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.gpus import words
from gpudoctor.tui.gpus.chart import DOTS, Glyphs, chart, meter
from gpudoctor.tui.gpus.metrics import Metric
from gpudoctor.tui.gpus.series import spaced

Row = list[tuple[str, str]]  # a text and its style, each after the other
TIMED = 3  # rows of a chart with room for the time beneath
SCALED = 36  # columns of a title with room for the scale
NOTHING = "This GPU has no such sensor, or its driver does not report it."


class Plot(Widget):
    """One chart of one GPU.

    Args:
        metric: what it draws.
        named: its title names the GPU.
    """

    DEFAULT_CSS = """
    Plot { height: 1fr; width: 1fr; }
    """

    def __init__(self, metric: Metric, named: bool = False) -> None:
        super().__init__(classes=f"plot-{metric.key}")
        self.metric, self._named = metric, named
        self._gpu: Watched | None = None
        self._look: Snapshot | None = None
        self._step, self._glyphs = 1.0, DOTS
        self._drawn: tuple[tuple[Size, Style], list[Strip]] | None = None

    def show(self, gpu: Watched, look: Snapshot, step: float, glyphs: Glyphs) -> None:
        """Draw a GPU, with so many seconds a value."""
        self._gpu, self._look, self._step, self._glyphs = gpu, look, step, glyphs
        self._drawn = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row; straight from its parts, because a chart's text needs no wrapping and no measuring."""
        of = self.size, self.visual_style
        if self._drawn is None or self._drawn[0] != of:
            self._drawn = of, self._strips(*of)
        strips = self._drawn[1]
        return strips[y] if y < len(strips) else Strip.blank(self.size.width, self.visual_style.rich_style)

    def _strips(self, size: Size, style: Style) -> list[Strip]:
        if self._gpu is None or self._look is None:
            return []
        metric = self.metric
        if self._named:
            metric = metric._replace(title=f"{self._gpu.label} {metric.title}")
        rows = plot(metric, self._gpu, self._look, self._step, self._glyphs, *size)
        styles = {name: (style + Style.parse(name)).rich_style for name in {name for row in rows for _, name in row}}
        return [
            Strip([Segment(text, styles[name]) for text, name in row]).adjust_cell_length(size.width, style.rich_style)
            for row in rows
        ]


def plot(
    metric: Metric, gpu: Watched, look: Snapshot, step: float, glyphs: Glyphs, width: int, height: int
) -> list[Row]:
    """The rows of a chart, its title first, each in parts with their styles."""
    last = gpu.last
    title, room = _title(metric, metric.text(gpu, last) if last else "", width), height - 1
    why = _why(metric, gpu)
    if why:
        lines = textwrap.wrap(why, max(10, width))[:room]
        return [title, *([(text, "$foreground-muted")] for text in lines)]
    if look.kind == STILL:
        return [title, _meter(metric, gpu, width)][:height]
    count = width * glyphs.across
    series = [spaced(gpu.samples, of, look.now, step, count) for of in metric.series]
    high = metric.high(gpu, [value for values in series for value in values if value is not None])
    if last and _scaled(metric, width):
        title = _title(metric, f"{metric.text(gpu, last)}, max {high / 1e9:.1f}", width)
    rows = [title]
    timed = room >= TIMED
    room -= timed
    heights = [room] if len(series) == 1 else [room - room // 2, room // 2]
    for number, (values, each) in enumerate(zip(series, heights, strict=True)):
        drawn = chart(values, width, each, metric.low, high, glyphs, hanging=number > 0)
        rows += [_coloured(row, metric, (each - at - 1) / each) for at, row in enumerate(drawn)]
    return [*rows, [(words.axis(width, count * step), "$foreground-muted")]] if timed else rows


def _scaled(metric: Metric, width: int) -> bool:
    """Whether the title says what the top of the chart stands for, where that is no limit of the GPU's."""
    return len(metric.series) > 1 and width >= SCALED


def _title(metric: Metric, value: str, width: int) -> Row:
    text = value[: max(0, width - len(metric.title) - 1)]
    return [(metric.title, "$foreground-muted"), (text.rjust(max(0, width - len(metric.title))), "bold")]


def _coloured(row: str, metric: Metric, bottom: float) -> Row:
    """A row in the metric's color, or in that of a warning where it stands for what is near the limit."""
    return [(row, "$text-warning" if bottom >= metric.warn - 0.1 else metric.colour)]


def _why(metric: Metric, gpu: Watched) -> str:
    """Why nothing can be drawn; empty where something can."""
    if gpu.refused:
        return clean(gpu.refused)
    if any(of(sample) is not None for sample in gpu.samples for of in metric.series):
        return ""
    found = getattr(gpu.last, metric.field, None)
    if gpu.last is None:
        return "No samples yet."
    return f"Unknown: {clean(found.unknown)}." if isinstance(found, Unknown) else NOTHING


def _meter(metric: Metric, gpu: Watched, width: int) -> Row:
    last = gpu.last
    value = metric.series[0](last) if last else None
    high = metric.high(gpu, [value] if value is not None else [])
    used, left = meter(None if value is None else value - metric.low, high - metric.low, width)
    return [(used, metric.colour), (left, "$foreground-muted")]
