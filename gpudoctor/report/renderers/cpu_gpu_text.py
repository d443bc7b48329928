"""The comparison of a GPU with the CPU at a terminal: a table for each kind of work, and what it comes to."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from gpudoctor.report.cpu_gpu_model import CpuGpuEntry
from gpudoctor.report.cpu_gpu_words import HEADINGS, aligned, table, title
from gpudoctor.report.sanitize import wrapped


def comparison(out: Console, entry: CpuGpuEntry) -> None:
    """Print one comparison."""
    out.print()
    _prose(out, title(entry), "", "bold")
    for part in entry.parts:
        out.print()
        _prose(out, HEADINGS[part.part], "  ", "bold")
        for number, line in enumerate(aligned(table(entry, part)) if part.sizes else ()):
            out.print(Text("    " + line, "dim" if number == 0 else ""), soft_wrap=True)
        for sentence in part.summary:
            _prose(out, sentence, "  ")
    if entry.summary:
        out.print()
    for sentence in entry.summary:
        _prose(out, sentence, "  ")


def _prose(out: Console, words: str, indent: str, style: str = "") -> None:
    for line in wrapped(words, out.width - len(indent)):
        out.print(Text(indent + line, style), soft_wrap=True)
