"""The table of the smoke tests: a line a figure, with a bar against what this device can reach at most."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from gpudoctor.report.model import Report, SmokeEntry
from gpudoctor.report.sanitize import clean, wrapped
from gpudoctor.report.smoke_rows import SmokeRow, columns, listed, remarks, table_rows, title

BAR = 10  # columns, or fewer where there is no room
LEAST, DEEPER = 20, 6  # columns that a remark needs next to its line, and where it begins beneath it


def table(out: Console, report: Report) -> None:
    """Print the tests of each backend on each device."""
    for entry in filter(listed, report.smoke):
        out.print()
        _heading(out, entry)
        if not entry.tests:
            for line in wrapped(entry.message or entry.outcome, out.width - 2):
                out.print(Text("  " + line), soft_wrap=True)
        _print(out, list(table_rows(entry)))
    if report.cpu_gpu:
        from gpudoctor.report.renderers.cpu_gpu_text import comparison

        for one in report.cpu_gpu:
            comparison(out, one)


def _heading(out: Console, entry: SmokeEntry) -> None:
    out.print(Text(clean(title(entry)), "bold"), soft_wrap=True)
    parts = ", ".join(remarks(entry))
    for line in wrapped(parts, out.width - 2) if parts else ():
        out.print(Text("  " + line, "dim"), soft_wrap=True)


def _print(out: Console, rows: list[SmokeRow]) -> None:
    """A line a figure; a remark that is too long for the terminal goes on beneath itself or the line."""
    wide, long = columns(rows, out.width, BAR)
    for row in rows:
        share = row.share
        bar = "" if share is None else f"{'█' * round(long * min(1.0, share)):<{long}} {share:4.0%} "
        head = f"  {clean(row.name)}{clean(row.value):>{wide - len(clean(row.name))}}  "
        at = len(head) + len(bar)
        beneath = out.width - at < min(LEAST, len(row.remark))
        at = DEEPER if beneath else at
        lines = wrapped(row.remark, max(LEAST, out.width - at))
        lines = ["", *lines] if beneath else lines
        out.print(Text.assemble(head, (bar, "cyan"), (lines[0], "dim")), soft_wrap=True)
        for line in lines[1:]:
            out.print(Text(" " * at + line, "dim"), soft_wrap=True)
