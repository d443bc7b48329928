"""Who the GPU is and how it does, in two lines above its charts."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.widget import Widget

from gpudoctor.maybe import Unknown
from gpudoctor.monitor.snapshot import Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.tui.gpus import words


class DeviceHeader(Widget):
    """The two lines."""

    DEFAULT_CSS = """
    DeviceHeader { height: 2; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    _shown: tuple[Watched, str] | None = None

    def show(self, gpu: Watched, span: str) -> None:
        """Show a GPU; `span` says what time the charts show."""
        self._shown = gpu, span
        self.refresh()

    def render(self) -> RenderResult:
        """The lines, as wide as there is room."""
        return Content("\n").join(header(*self._shown, self.size.width)) if self._shown else ""


def header(gpu: Watched, span: str, width: int) -> list[Content]:
    """The lines: who it is, and what its clocks, its fan and its state are."""
    address = gpu.device.address
    place = clean(address) if isinstance(address, str) else ""
    who = f"{gpu.label}  {words.name(gpu)}"
    room = width - len(who) - len(span) - 2
    middle = f"  {place}" if len(place) + 2 <= room else ""
    gap = " " * max(2, width - len(who) - len(middle) - len(span))
    first = Content.assemble((who, "bold"), (middle, "$foreground-muted"), gap, (span, "$foreground-muted"))
    return [first, _state(gpu)]


def _state(gpu: Watched) -> Content:
    last = gpu.last
    if gpu.refused:
        return Content.styled(f"cannot be queried: {clean(gpu.refused)}", "$text-error")
    if last is None:
        return Content.styled("no samples yet", "$foreground-muted")
    state = last.performance_state
    reported = (
        ("state ", f"P{state}" if isinstance(state, int) else words.of(state)),
        ("memory clock ", words.of(last.memory_clock, " MHz")),
        ("fan ", words.of(last.fan, "%")),
    )
    parts: list[Content | tuple[str, str]] = []
    for name, value in reported:
        parts += [(name, "$foreground-muted"), (value, ""), ("   ", "")]
    return Content.assemble(*parts, *_throttle(gpu))


def _throttle(gpu: Watched) -> list[tuple[str, str]]:
    """What throttles the clocks."""
    last = gpu.last
    reported = last.reasons if last else None
    if isinstance(reported, Unknown) or reported is None:
        return [("Throttle: ", "$foreground-muted"), (words.UNKNOWN if reported else words.NONE, "")]
    if not reported:
        return [("Throttle: ", "$foreground-muted"), ("none", "")]
    colour = "$text-error" if words.serious(last) else "$text-warning" if reported != ("gpu-idle",) else ""
    return [("Throttle: ", "$foreground-muted"), (clean(words.reasons(last)), colour)]
