"""Invents plausible samples of the GPUs in some facts, for demonstrations: a training run over a few minutes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.facts import Facts, Gpu
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.monitor.facts_source import watched
from gpudoctor.sampling.lines import SCHEMA, GpuSample, HostMemory, MonitorProcess, SampleLine
from gpudoctor.targets import gpus_of

SECONDS = 400  # of one round
EPOCH, PAUSE = 48, 7  # seconds of a training epoch, and of the evaluation at its end
AMBIENT, HOT = 31.0, 76.0  # degrees Celsius, idle and at the power limit
WARMS = 0.06  # share of the way to its final temperature that a GPU takes in a second
# Where the facts do not say: a card of the middle.
MEMORY, LIMIT, CLOCK, MEMORY_CLOCK = 24 << 30, 350.0, 1980, 2619
GIGABYTES = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.97, 5: 3.94, 6: 7.56}  # GB/s of a lane, one way, by PCIe generation


def lines(facts: Facts, seed: int = 7, seconds: int = SECONDS) -> Iterator[SampleLine]:
    """Yield a recording: the GPUs of the facts as if they trained.

    Args:
        facts: of the machine. A GPU that is not well there tells what the facts say, and nothing more.
        seed: the same seed gives the same samples.
        seconds: how many samples of each GPU.
    """
    yield SampleLine(schema=SCHEMA, title="synthetic demo data")
    runs = [_Run(gpu, random.Random(seed * 1009 + gpu.index)) for gpu in gpus_of(facts)]  # noqa: S311 - no secret
    for run in runs:
        reported = msgspec.to_builtins(watched(run.gpu).device)
        yield SampleLine(
            gpu=run.name, vendor=run.gpu.vendor, device={**reported, "memory_clock_max": MEMORY_CLOCK}, at=0.0
        )
        yield SampleLine(gpu=run.name, vendor=run.gpu.vendor, processes=run.processes(), at=0.0)
    host = facts.host
    if runs:
        yield SampleLine(host=HostMemory(memory=host.memory, memory_available=host.memory_available), at=0.0)
    for second in range(seconds):
        for run in runs:
            yield SampleLine(gpu=run.name, vendor=run.gpu.vendor, sample=run.sample(float(second)))


class _Run:
    """One GPU in training."""

    def __init__(self, gpu: Gpu, chance: random.Random) -> None:
        self.gpu, self.name, self._chance = gpu, f"GPU {gpu.index}", chance
        self._failed = isinstance(gpu.status, str) and gpu.status != "ok"
        self._memory = _or(gpu.memory, MEMORY)
        self._limit, self._clock = _or(gpu.power_limit, LIMIT), _or(gpu.sm_clock_max, CLOCK)
        self._heat = AMBIENT + chance.uniform(0, 3)
        self._cooling = chance.uniform(0.9, 1.06)  # a place in the rack
        self._phase = chance.uniform(0, 1.5)

    def processes(self) -> tuple[MonitorProcess, ...] | Unknown:
        """The training, where the facts name nobody."""
        reported = watched(self.gpu).processes
        if self._failed or (isinstance(reported, tuple) and reported):
            return reported
        used = MonitorProcess(
            pid=48213 + self.gpu.index,
            kind="C",
            memory=int(self._memory * 0.74),
            name="python",
            command=f"python train.py --rank {self.gpu.index}",
            user="ml",
            host_memory=11 << 30,
            age=7_400.0,
        )
        return (used,)

    def sample(self, at: float) -> GpuSample:
        """What it tells at a second."""
        if self._failed:
            return msgspec.structs.replace(watched(self.gpu).samples[0], at=at)
        share, load = self._starved(), self._load(at)
        busy = load * share
        power = self._limit * min(1.0, (0.17 + 0.86 * busy) * self._chance.uniform(0.97, 1.03))
        self._heat += WARMS * (AMBIENT + (HOT - AMBIENT) * self._cooling * power / self._limit - self._heat)
        capped = power >= 0.985 * self._limit
        return GpuSample(
            at=at,
            utilization=round(100 * busy),
            memory_used=int(self._memory * (0.71 + 0.035 * busy + 0.004 * math.sin(at / 9))),
            temperature=round(self._heat),
            power=round(power, 1),
            sm_clock=round(self._clock * (0.93 if capped else 0.99) / 15) * 15,
            memory_clock=MEMORY_CLOCK,
            fan=None if self._limit > 450 else round(min(100, max(30, 2.2 * (self._heat - 40) + 30))),
            performance_state=0,
            event_reasons=("sw-power-cap",) if capped else (),
            **self._traffic(load),
        )

    def _load(self, at: float) -> float:
        """Training with its evaluation at the end of each epoch."""
        inside = (at + self._phase) % EPOCH
        if inside > EPOCH - PAUSE:
            return 0.34 + 0.2 * math.sin(inside * 2.1) + self._chance.uniform(-0.05, 0.05)
        return min(1.0, 0.95 + self._chance.uniform(-0.04, 0.05))

    def _starved(self) -> float:
        """What a narrow link leaves of the load: the GPU waits for its data."""
        width, most = _or(self.gpu.link_width, 16), _or(self.gpu.link_width_max, 16)
        return 1.0 if width >= most else max(0.35, (width / most) ** 0.35)

    def _traffic(self, load: float) -> dict[str, Any]:
        """Traffic and link; links train up under load, and a link that is too narrow stays so."""
        generation, width = self.gpu.link_generation_max, self.gpu.link_width
        full = GIGABYTES.get(_or(generation, 4), 1.97) * _or(width, 16) * 1e9
        wanted = 11e9 * load * self._chance.uniform(0.75, 1.2)
        return {
            "pcie_rx": round(min(wanted, 0.88 * full)),
            "pcie_tx": round(min(wanted * 0.18, 0.88 * full)),
            "link_generation": generation,
            "link_width": width,
        }


def _or(value: Maybe[Any], fallback: Any) -> Any:
    return fallback if value is None or isinstance(value, Unknown) or not value else value
