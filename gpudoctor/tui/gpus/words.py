"""Values in words: with their units, short enough for a table, and never a zero for what is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.monitor.snapshot import Watched
from gpudoctor.report.sanitize import clean
from gpudoctor.sampling.lines import GpuSample

T = TypeVar("T")
UNKNOWN, NONE = "?", "-"
# NVML's reasons (knowledge/nvml.toml) as nvidia-smi calls them, long and for a column.
REASONS = {
    "gpu-idle": ("idle", "idle"),
    "applications-clocks": ("application clocks", "app clocks"),
    "sw-power-cap": ("power cap", "power cap"),
    "hw-slowdown": ("HW slowdown", "HW slow"),
    "sync-boost": ("sync boost", "sync boost"),
    "sw-thermal-slowdown": ("thermal", "thermal"),
    "hw-thermal-slowdown": ("HW thermal slowdown", "HW thermal"),
    "hw-power-brake": ("HW power brake", "HW brake"),
    "display-clocks": ("display clocks", "display"),
    "board-limit": ("board limit", "board"),
    "reliability": ("voltage reliability", "voltage"),
}
SERIOUS = ("hw-slowdown", "sw-thermal-slowdown", "hw-thermal-slowdown", "hw-power-brake")
KIB, GIB = 1 << 10, 1 << 30
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def number(value: Maybe[T | None]) -> T | None:
    """The value where it is known and there."""
    return None if isinstance(value, Unknown) else value


def of(value: Maybe[float | None], unit: str = "", digits: int = 0) -> str:
    """A value with its unit: "?" is unknown, a dash what the GPU has not."""
    if isinstance(value, Unknown):
        return UNKNOWN
    return NONE if value is None else f"{value:.{digits}f}{unit}"


def size(value: Maybe[int | None], unit: str = " GiB") -> str:
    """Bytes in GiB."""
    return of(value / GIB if isinstance(value, int) else value, unit, 1)


def small_size(value: Maybe[int | None]) -> str:
    """Bytes of a process, in MiB below 10 GiB."""
    if isinstance(value, int) and value < 10 * GIB:
        return f"{value / KIB / KIB:.0f} MiB"
    return size(value)


def age(seconds: Maybe[float | None]) -> str:
    """Seconds in the largest unit of which there is one: "45 s", "12 min", "3 h", "5 d"."""
    if not isinstance(seconds, int | float):
        return of(seconds)
    unit, length = next((pair for pair in UNITS if seconds >= pair[1]), UNITS[-1])
    return f"{seconds // length:.0f} {unit}"


def rates(into: Maybe[float | None], out: Maybe[float | None]) -> str:
    """Traffic in both directions: "in 8.6 out 1.6 GB/s", in MB/s where both are small."""
    known = [value for value in (number(into), number(out)) if value is not None]
    if not known:
        return UNKNOWN if isinstance(into, Unknown) or isinstance(out, Unknown) else NONE
    big = max(known) >= 1e8
    shown = [of(value / (1e9 if big else 1e6) if value is not None else value, "", int(big))
             if not isinstance(value, Unknown) else UNKNOWN for value in (into, out)]  # fmt: skip
    return f"in {shown[0]} out {shown[1]} {'GB' if big else 'MB'}/s"


def link(generation: Maybe[int | None], width: Maybe[int | None]) -> str:
    """A PCIe link: "Gen5 x16"."""
    if generation is None and width is None:
        return "no PCIe link"
    return f"Gen{of(generation)} x{of(width)}"


def narrow(gpu: Watched) -> bool:
    """Whether the link has fewer lanes than card and slot could use."""
    last = gpu.last
    now, most = number(last.link_width) if last else None, number(gpu.device.link_width_max)
    return now is not None and most is not None and now < most


def reasons(sample: GpuSample | None, short: bool = False) -> str:
    """What throttles the clocks; empty where nothing does."""
    found = sample.reasons if sample else None
    if isinstance(found, Unknown):
        return UNKNOWN
    return ", ".join(REASONS.get(name, (name, name))[short] for name in found or ())


def serious(sample: GpuSample | None) -> bool:
    """Whether something holds the clocks that should not: heat or a brake."""
    reported = sample.reasons if sample else None
    return isinstance(reported, tuple) and any(name in SERIOUS for name in reported)


def links_up(links: Maybe[Sequence[bool] | None]) -> str:
    """NVLinks that are up, of how many."""
    if isinstance(links, Unknown) or links is None:
        return "unknown" if isinstance(links, Unknown) else "none"
    return f"{sum(links)} of {len(links)} up"


def name(gpu: Watched) -> str:
    """The product's name, harmless."""
    found = gpu.device.name
    return clean(found) if isinstance(found, str) else "name unknown"


def time(seconds: float) -> str:
    """A length of time that charts show: "48 s", "12 min"."""
    return f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.0f} min"


def axis(width: int, seconds: float) -> str:
    """The time below or above a chart of so many columns: "-48 s" at its left, "now" at its right end."""
    begin, end = f"-{time(seconds)}", "now"
    return begin + end.rjust(width - len(begin)) if width > len(begin) + len(end) else " " * width


def fit(text: str, width: int) -> str:
    """The text in exactly so many columns; cut with an ellipsis."""
    return text.ljust(width) if len(text) <= width else text[: max(0, width - 1)] + "…"[: max(0, width)]
