"""Many GPUs in a table: a row each, with its load over time and a bar of its memory."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from gpudoctor.monitor.snapshot import STILL, Snapshot, Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.gpus import words
from gpudoctor.tui.gpus.chart import Glyphs, chart, meter
from gpudoctor.tui.gpus.metrics import METRICS, Metric
from gpudoctor.tui.gpus.series import spaced

BY_KEY = {metric.key: metric for metric in METRICS}
LEAST, WIDEST = 6, 60  # columns of a small chart
LONGEST = 24  # columns of the bar of the memory
NAMED = 120  # columns from which on each row has the product's name
NAME = 26
LEFT = ("GPU", "Throttle")
CHOSEN = ">"
# What stands in a row next to chart and bar: their columns, with a blank after each.
PLAIN = (
    ("GPU", 4),
    ("Util", 6),
    ("Memory GiB", 12),
    ("Temp", 5),
    ("Power W", 9),
    ("MHz", 5),
    ("PCIe", 10),
    ("Throttle", 10),
)


def widths(width: int) -> tuple[int, int]:
    """Columns of the chart of the load and of the bar of the memory; 0: there is no room for it."""
    room = width - sum(columns for _, columns in PLAIN) - 2 - (NAME + 1 if width >= NAMED else 0)
    memory = max(LEAST, min(LONGEST, room // 4))
    memory = memory if room >= memory + LEAST else 0
    return min(WIDEST, max(LEAST, room - memory)), memory


def heading(width: int, values: float = 0.0) -> str:
    """The names of the columns, and above the chart of the load its time.

    Args:
        width: columns.
        values: seconds that a column of the chart stands for; 0: there is no chart.
    """
    load, memory = widths(width)
    time = words.axis(load, load * values) if values else " " * load
    room = {"Util": f"{time} ", "Memory GiB": " " * (memory + 1 if memory else 0)}
    named = "Name".ljust(NAME + 1) if width >= NAMED else ""
    parts = [f"{title:{'<' if title in LEFT else '>'}{columns - 1}} " for title, columns in PLAIN]
    filled = [part + room.get(title, "") for part, (title, _) in zip(parts, PLAIN, strict=True)]
    return (filled[0] + named + "".join(filled[1:])).rstrip()


def row(
    gpu: Watched, look: Snapshot, width: int, height: int, step: float, glyphs: Glyphs, chosen: bool = False
) -> Content:
    """A GPU's row, of one or several lines; the chosen one has a mark."""
    load, memory = widths(width)
    named = [(words.fit(words.name(gpu), NAME) + " ", "")] if width >= NAMED else []
    label = (f"{CHOSEN if chosen else ' '}{gpu.index:<3}", "bold")
    if gpu.refused:
        text = Content.assemble(label, *named, (f"cannot be queried: {clean(gpu.refused)}", "$text-error"))
        return Content("\n").join([text, *[Content("")] * (height - 1)])
    utilization, used_memory = BY_KEY["utilization"], BY_KEY["memory"]
    still = look.kind == STILL
    left = _bar(utilization, gpu, load, height) if still else _chart(utilization, gpu, look, load, height, step, glyphs)
    right = _bar(used_memory, gpu, memory, height)
    values = _values(gpu)
    blank = " " * (len(label[0]) + sum(len(text) for text, _ in named))
    lines = []
    for at in range(height):
        first = at == height - 1  # the values stand at the foot of the charts
        util, used, *rest = values if first else [(" " * len(text), "") for text, _ in values]
        begin = [label, *named] if first else [(blank, "")]
        lines.append(Content.assemble(*begin, util, left[at], " ", used, right[at], " " if memory else "", *rest))
    return Content("\n").join(lines)


def _bar(metric: Metric, gpu: Watched, width: int, height: int) -> list[Content]:
    value = metric.series[0](gpu.samples[-1]) if gpu.samples else None
    used, left = meter(value, metric.high(gpu, [value or 0.0]), width)
    bar = Content.assemble((used, metric.colour), (left.ljust(width - len(used)), "$foreground-muted"))
    return [Content(" " * width)] * (height - 1) + [bar]


def _chart(
    metric: Metric, gpu: Watched, look: Snapshot, width: int, height: int, step: float, glyphs: Glyphs
) -> list[Content]:
    values = spaced(gpu.samples, metric.series[0], look.now, step, width * glyphs.across)
    high = metric.high(gpu, [value for value in values if value is not None])
    return [Content.styled(text, metric.colour) for text in chart(values, width, height, 0.0, high, glyphs)]


def _values(gpu: Watched) -> Sequence[tuple[str, str]]:
    """The cells next to the charts, each as wide as its column."""
    last, device = gpu.last, gpu.device
    if last is None:
        return [(" " * columns, "") for _, columns in PLAIN[1:]]
    hot = _near(words.number(last.temperature), words.number(device.temperature_slowdown), 0.93)
    idle = last.reasons == ("gpu-idle",)
    held = (
        "$text-error" if words.serious(last) else "$text-warning" if last.reasons and not idle else "$foreground-muted"
    )
    throttle = words.reasons(last, short=True) or (words.NONE if last.reasons is None else "none")
    used, limit = words.size(last.memory_used, ""), words.of(device.power_limit)
    texts = (
        (words.of(last.utilization, "%"), ""),
        (f"{used}/{words.of(_gib(device.memory))}", ""),
        (words.of(last.temperature, "°"), "$text-warning bold" if hot else ""),
        (f"{words.of(last.power)}/{limit}", ""),
        (words.of(last.sm_clock), ""),
        (_link(gpu), "$text-warning bold" if words.narrow(gpu) else ""),
    )
    cells = [(words.fit(text.rjust(columns - 1), columns - 1) + " ", style)
             for (text, style), (_, columns) in zip(texts, PLAIN[1:], strict=False)]  # fmt: skip
    return [*cells, (words.fit(clean(throttle), PLAIN[-1][1]), held)]


def _link(gpu: Watched) -> str:
    last = gpu.last
    if last is None or last.link_width is None:
        return words.NONE
    mark = "!" if words.narrow(gpu) else ""
    return f"{words.link(last.link_generation, last.link_width)}{mark}"


def _gib(value: object) -> float | None:
    return value / words.GIB if isinstance(value, int) else None


def _near(value: float | None, limit: float | None, share: float) -> bool:
    return value is not None and limit is not None and value >= share * limit
