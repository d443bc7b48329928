"""The comparison of a GPU with the CPU as lines: bars of blocks over the sizes, the table, what it comes to."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.report.cpu_gpu_model import ComparedPart, CpuGpuEntry
from gpudoctor.report.cpu_gpu_plot import NAMES, SpeedPlot, plot, power
from gpudoctor.report.cpu_gpu_words import AXES, HEADINGS, aligned, table, title
from gpudoctor.report.sanitize import wrapped
from gpudoctor.tui.gpus.chart import BLOCKS, chart
from gpudoctor.tui.smoke.lines import Line

HEIGHT = 7  # rows of a plot
SCALE = 8  # columns of the scale at its left
GAP = 2  # columns between the bars of two sizes
LEAST = 20  # columns that prose needs


def compared(entry: CpuGpuEntry, width: int) -> list[Line]:
    """The lines of a comparison.

    Args:
        entry: what was measured.
        width: columns there are.
    """
    lines: list[Line] = _prose(title(entry), width, "heading", 0)
    for part in entry.parts:
        lines += [[], *_prose(HEADINGS[part.part], width, "heading")]
        drawn = plot(part)
        if drawn is not None:
            lines += _bars(part, drawn, width)
        for number, row in enumerate(aligned(table(entry, part)) if part.sizes else ()):
            lines.append([("    " + row, "dim" if number == 0 else "")])
        for sentence in part.summary:
            lines += _prose(sentence, width)
    if entry.summary:
        lines.append([])
    for sentence in entry.summary:
        lines += _prose(sentence, width)
    return lines


def _prose(text: str, width: int, look: str = "", indent: int = 2) -> list[Line]:
    return [[(" " * indent + line, look)] for line in wrapped(text, max(LEAST, width - indent))]


def _bars(part: ComparedPart, drawn: SpeedPlot, width: int) -> Iterator[Line]:
    """A group of bars for each size, one for each device, and the sizes beneath; nothing where there is no room."""
    longest = max(len(f"{size:,}") for size in drawn.sizes)
    group = max(2 * len(drawn.curves), longest - 1) + GAP
    if width < SCALE + 2 + group * len(drawn.sizes):
        return
    each = max(2, (group - GAP) // len(drawn.curves))
    yield _legend(drawn)
    layers = [
        (curve.device, chart(_columns(drawn, place, group, each), group * len(drawn.sizes), HEIGHT, 0, 1, BLOCKS))
        for place, curve in enumerate(drawn.curves)
    ]
    for row in range(HEIGHT):
        scale = power(drawn.high) if row == 0 else power(drawn.low) if row == HEIGHT - 1 else ""
        yield [(f"{scale:>{SCALE}} ", "dim"), *_merged([(device, rows[row]) for device, rows in layers])]
    sizes = "".join(f"{size:<{group},}" for size in drawn.sizes)
    yield [(f"{AXES[part.part].split()[0]:>{SCALE}} {sizes}".rstrip(), "dim")]


def _columns(drawn: SpeedPlot, place: int, group: int, each: int) -> list[float | None]:
    """The heights of one device's bars by column; between them is nothing."""
    columns: list[float | None] = []
    for speed in drawn.curves[place].speeds:
        bar = [drawn.height(speed) if speed else None] * each
        before: list[float | None] = [None] * (place * each)
        columns += [*before, *bar, *[None] * (group - len(before) - each)]
    return columns


def _merged(layers: list[tuple[str, str]]) -> Line:
    """One row of all devices: at each column at most one of them has a bar."""
    line: Line = []
    for column in zip(*(row for _, row in layers), strict=True):
        look, mark = next(
            ((device, one) for (device, _), one in zip(layers, column, strict=True) if one != " "), ("", " ")
        )
        if line and line[-1][1] == look:
            line[-1] = (line[-1][0] + mark, look)
        else:
            line.append((mark, look))
    return line


def _legend(drawn: SpeedPlot) -> Line:
    """The devices in the order of their bars, so that color is not needed."""
    line: Line = [(f"{'':>{SCALE}} {drawn.unit} (log), bars in this order:", "dim")]
    for curve in drawn.curves:
        line += [("  ■ ", curve.device), (NAMES[curve.device], "")]
    return line
