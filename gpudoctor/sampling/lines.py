"""What is reported of a GPU over time: limits, samples, counters, processes; and the lines that carry them."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.facts.text_types import Celsius, Count, Generation, Gpus, Lanes, Number, Seconds, Small, Whole
from gpudoctor.knowledge.nvml import event_reasons
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown("not reported")
SCHEMA = "gpudoctor.samples/1"


class GpuSample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One look at what changes all the time.

    Units are those of `gpudoctor.facts.Gpu`; `fan` is per cent of its full speed, traffic is bytes a second as the
    GPU sees it (rx: towards the GPU). `at` is in seconds. None: the GPU has no such thing; Unknown: nobody could say.
    """

    at: Seconds
    utilization: Maybe[Small | None] = NOT
    memory_used: Maybe[Count | None] = NOT
    temperature: Maybe[Number | None] = NOT
    power: Maybe[Number | None] = NOT
    sm_clock: Maybe[Number | None] = NOT
    memory_clock: Maybe[Number | None] = NOT
    fan: Maybe[Small | None] = NOT
    performance_state: Maybe[Small | None] = NOT
    event_reasons: Whole | tuple[str, ...] | Unknown | None = NOT  # NVML's bits, or their names
    pcie_rx: Maybe[Number | None] = NOT
    pcie_tx: Maybe[Number | None] = NOT
    link_generation: Maybe[Generation | None] = NOT
    link_width: Maybe[Lanes | None] = NOT

    @property
    def reasons(self) -> Maybe[tuple[str, ...] | None]:
        """What holds the clocks, by name."""
        reported = self.event_reasons
        return event_reasons(reported) if isinstance(reported, int) else reported


class Counters(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One look at what only grows, and at how many other processes compute on the GPU."""

    at: Seconds
    ecc_corrected: Maybe[Whole | None] = NOT
    ecc_uncorrected: Maybe[Whole | None] = NOT
    pcie_replays: Maybe[Whole | None] = NOT
    nvlink_replays: Maybe[Whole | None] = NOT  # this and the next two: over all links
    nvlink_recoveries: Maybe[Whole | None] = NOT
    nvlink_crc: Maybe[Whole | None] = NOT
    others: Maybe[Small | None] = NOT


class HostMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The machine's memory, in bytes."""

    memory: Maybe[Count] = NOT
    memory_available: Maybe[Count] = NOT


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A MIG device."""

    uuid: Maybe[str | None] = NOT
    name: Maybe[str | None] = NOT
    memory: Maybe[Count | None] = NOT
    memory_used: Maybe[Count | None] = NOT


class MonitorDevice(msgspec.Struct, frozen=True, kw_only=True):
    """What hardly changes: who the GPU is, its limits, its links, how it is shared."""

    name: Maybe[str | None] = NOT
    address: Maybe[str | None] = NOT
    memory: Maybe[Count | None] = NOT
    temperature_slowdown: Maybe[Celsius | None] = NOT
    power_limit: Maybe[Number | None] = NOT
    sm_clock_max: Maybe[Small | None] = NOT
    memory_clock_max: Maybe[Small | None] = NOT
    link_generation_max: Maybe[Generation | None] = NOT
    link_width_max: Maybe[Lanes | None] = NOT
    pcie_replays: Maybe[Count | None] = NOT
    ecc_uncorrected: Maybe[Count | None] = NOT
    nvlinks: Maybe[tuple[bool, ...] | None] = NOT  # one entry a link: up or not
    mig: Maybe[bool | None] = NOT
    mig_devices: Maybe[tuple[Slice, ...] | None] = NOT


class MonitorProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that uses a GPU; what is None of it is not in this PID namespace.

    Attributes:
        pid: its number.
        kind: C (computing), G (graphics), or C+G.
        memory: of the GPU, in bytes.
        name: of the process.
        command: its command line.
        user: a name or a number.
        host_memory: resident, in bytes.
        age: seconds since it began.
    """

    pid: Small
    kind: Maybe[str] = NOT
    memory: Maybe[Count | None] = NOT
    name: Maybe[str | None] = NOT
    command: Maybe[str | None] = NOT
    user: Maybe[Small | str | None] = NOT
    host_memory: Maybe[Count | None] = NOT
    age: Maybe[Number | None] = NOT


class TreeProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process of a program that is run.

    Attributes:
        pid: its number.
        parent: its parent's.
        begun: when, in seconds since the epoch; tells it from a later one of the same number.
        name: as the kernel has it.
        cpu: user and system time so far, in seconds.
        stopped: it is stopped, as by Ctrl-Z.
        worker: Python's multiprocessing made it, or it is a fork that is no other program than its parent.
        frameworks: the frameworks whose libraries it has mapped, and one of their paths.
        nodes: whether it has had a device node of a GPU open.
        env: what its environment was at its start, of the variables that were asked for.
    """

    pid: Small
    parent: Maybe[Small] = NOT
    begun: Seconds = 0.0
    name: str = ""
    cpu: Maybe[Seconds] = NOT
    stopped: bool = False
    worker: Maybe[bool] = NOT
    frameworks: dict[str, str] = {}
    nodes: Maybe[bool] = NOT
    env: dict[str, str] = {}


class ProcessTree(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the processes of a program that is run."""

    at: Seconds
    processes: tuple[TreeProcess, ...] = ()


class SampleLine(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A line of workers/sampler.py or of a recording (docs/samples.md); of the start of NVML the last four."""

    schema: str | None = None
    title: str | None = None
    vendor: str | None = None
    gpu: str | None = None
    at: Seconds | None = None
    device: dict[str, Any] | None = None
    sample: GpuSample | None = None
    counters: Counters | None = None
    processes: tuple[MonitorProcess, ...] | Unknown | None = None
    host: HostMemory | None = None
    tree: ProcessTree | None = None
    refused: Maybe[None] = None
    stage: str | None = None
    count: Gpus | Unknown | None = None
    not_loaded: str | None = None
    no_module: str | None = None
    code: Any = 0
    text: Any = ""


decode = msgspec.json.Decoder(SampleLine).decode


def device(reported: dict[str, Any], before: MonitorDevice) -> MonitorDevice:
    """A device with what a line tells of it; what the line does not name stays.

    Raises:
        msgspec.ValidationError: the line tells something of another type.
    """
    known = {name: value for name, value in reported.items() if name in MonitorDevice.__struct_fields__}
    return msgspec.convert(msgspec.to_builtins(before) | known, MonitorDevice)
