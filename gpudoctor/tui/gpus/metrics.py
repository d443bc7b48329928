"""What is drawn of a GPU: for each chart its title, its value in words, its series, and what its top stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpudoctor.maybe import Unknown
from gpudoctor.monitor.samples import MonitorSample
from gpudoctor.monitor.snapshot import Watched
from gpudoctor.tui.gpus import words

Getter = Callable[[MonitorSample], float | None]
# GB/s of one lane, one way, after its coding, by generation (PCI Express Base Specification: 2.5 GT/s with 8b/10b ...).
LANE = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
COOL = 20.0  # degrees Celsius at the bottom of a chart
HOTTEST = 100.0  # at its top where the driver tells no limit
LEAST_TRAFFIC = 1e8  # bytes a second at the top of a chart of a link on which nothing happens


class Metric(NamedTuple):
    """One chart.

    Attributes:
        key: its name in code.
        title: for people.
        colour: of the theme.
        series: one drawn from the bottom, or two beneath each other.
        low: what the bottom stands for.
        high: what the top stands for, by the GPU and the values that are drawn.
        text: the newest value and its limit.
        field: of a sample; its Unknown says why there is nothing.
        warn: share of the height above which the color is a warning.
    """

    key: str
    title: str
    colour: str
    series: tuple[Getter, ...]
    low: float
    high: Callable[[Watched, Sequence[float]], float]
    text: Callable[[Watched, MonitorSample], str]
    field: str
    warn: float = 2.0


def field(name: str) -> Getter:
    """The value of a field of a sample; None where it is unknown or the GPU has no such thing."""

    def value(sample: MonitorSample) -> float | None:
        found = getattr(sample, name)
        return None if isinstance(found, Unknown) else found

    return value


def _limit(name: str, otherwise: float = 0.0) -> Callable[[Watched, Sequence[float]], float]:
    """A limit of the device; where it is unknown, the highest value that is drawn."""

    def high(gpu: Watched, values: Sequence[float]) -> float:
        return float(words.number(getattr(gpu.device, name)) or otherwise or max(values, default=1.0) or 1.0)

    return high


def _traffic_top(gpu: Watched, values: Sequence[float]) -> float:
    """A round number above what is drawn, at most what the link carries."""
    device = gpu.device
    lanes, generation = words.number(device.link_width_max), words.number(device.link_generation_max)
    whole = LANE.get(generation or 0, 0.0) * (lanes or 0) * 1e9
    seen, top = max(values, default=0.0), LEAST_TRAFFIC
    while top < seen:
        top *= 2
    return max(seen, min(top, whole)) if whole else top


def _with_limit(value: str, limit: str, unit: str) -> str:
    limited = limit not in (words.UNKNOWN, words.NONE)
    return f"{value} of {limit}{unit}" if limited else value + (unit if value != words.UNKNOWN else "")


def _temperature(gpu: Watched, sample: MonitorSample) -> str:
    limit = words.of(gpu.device.temperature_slowdown)
    return _with_limit(words.of(sample.temperature), limit, " °C")


METRICS = (
    Metric(
        "utilization", "Utilization", "$text-success", (field("utilization"),), 0.0, lambda *_: 100.0,
        lambda _, s: words.of(s.utilization, "%"), "utilization",
    ),
    Metric(
        "memory", "Memory", "$text-primary", (field("memory_used"),), 0.0, _limit("memory"),
        lambda g, s: _with_limit(words.size(s.memory_used, ""), words.size(g.device.memory, ""), " GiB"),
        "memory_used", 0.95,
    ),
    Metric(
        "temperature", "Temperature", "$text-primary", (field("temperature"),), COOL,
        _limit("temperature_slowdown", HOTTEST), _temperature, "temperature", 0.9,
    ),
    Metric(
        "power", "Power", "$text-success", (field("power"),), 0.0, _limit("power_limit"),
        lambda g, s: _with_limit(words.of(s.power), words.of(g.device.power_limit), " W"), "power", 0.98,
    ),
    Metric(
        "clock", "SM clock", "$text-primary", (field("sm_clock"),), 0.0, _limit("sm_clock_max"),
        lambda g, s: _with_limit(words.of(s.sm_clock), words.of(g.device.sm_clock_max), " MHz"), "sm_clock",
    ),
    Metric(
        "pcie", "PCIe", "$text-success", (field("pcie_rx"), field("pcie_tx")), 0.0, _traffic_top,
        lambda _, s: words.rates(s.pcie_rx, s.pcie_tx), "pcie_rx",
    ),
)  # fmt: skip
