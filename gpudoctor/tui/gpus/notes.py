"""The line above the GPUs: whose samples these are and what goes wrong; and the GPUs' values as text to copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from gpudoctor.monitor.snapshot import LIVE, REPLAYED, STILL, Snapshot, Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.gpus import words
from gpudoctor.tui.gpus.chart import Glyphs
from gpudoctor.tui.gpus.metrics import METRICS

KINDS = {
    LIVE: "live, one sample per second",
    REPLAYED: "replayed",
    STILL: "a single recorded sample",
}


def note(look: Snapshot) -> list[Content]:
    """What goes wrong, a line each; else whose samples these are."""
    if look.troubles:
        old = " The values shown are older." if look.devices else ""
        return [Content.styled(clean(text) + old, "$text-error bold") for text in look.troubles]
    if not look.devices:
        return []
    names = Counter(words.name(gpu) for gpu in look.devices)
    listed = ", ".join(f"{count} x {name}" for name, count in names.items())
    kind = KINDS.get(look.kind, look.kind) + (f": {look.title}" if look.title else "")
    reported = f"{listed}   " if len(look.devices) > 1 else ""
    return [Content.assemble((reported, "bold"), (f"{_host(look)}{clean(kind)}", "$foreground-muted"))]


def _host(look: Snapshot) -> str:
    """How much of the machine's memory is in use; empty where that is unknown."""
    total, free = (look.host.memory, look.host.memory_available) if look.host else (None, None)
    if not isinstance(total, int) or not isinstance(free, int):
        return ""
    return f"RAM {(total - free) / words.GIB:.0f}/{total / words.GIB:.0f} GiB   "


def span(look: Snapshot, step: float, glyphs: Glyphs, width: int) -> str:
    """What time a chart of so many columns shows."""
    if look.kind == STILL:
        return ""
    return f"last {words.time(width * glyphs.across * step)}"


def summary(gpus: Sequence[Watched]) -> str:
    """The newest values of the GPUs as text, a line a GPU."""
    lines = []
    for gpu in gpus:
        last = gpu.last
        said = [f"{metric.title} {metric.text(gpu, last)}" for metric in METRICS] if last else [gpu.refused or "?"]
        held = words.reasons(last)
        said += [f"Throttle: {held}"] if held else []
        lines.append(clean(f"{gpu.label} {words.name(gpu)}: " + ", ".join(said)))
    return "\n".join(lines)
