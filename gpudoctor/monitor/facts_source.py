"""A source out of facts: one recorded moment, in which nothing moves."""

from __future__ import annotations

import msgspec

from gpudoctor.facts import Facts, Gpu
from gpudoctor.facts import GpuProcess as FactsProcess
from gpudoctor.maybe import Unknown
from gpudoctor.monitor.snapshot import STILL, Snapshot, Watched
from gpudoctor.monitor.vendors import device_of
from gpudoctor.sampling.lines import GpuSample, HostMemory, MonitorProcess
from gpudoctor.targets import gpus_of

NOT_HELD = Unknown("not in the facts")
# What facts and samples call by the same name.
_SHARED = tuple(name for name in GpuSample.__struct_fields__ if name in Gpu.__struct_fields__)


class Still:
    """The GPUs as the facts describe them.

    Args:
        facts: of a machine.
    """

    def __init__(self, facts: Facts) -> None:
        host = HostMemory(memory=facts.host.memory, memory_available=facts.host.memory_available)
        self._look = Snapshot(kind=STILL, devices=tuple(watched(gpu) for gpu in gpus_of(facts)), host=host)

    def start(self) -> None:
        """Nothing has to begin."""

    def stop(self) -> None:
        """Nothing runs."""

    def look(self) -> Snapshot:
        """The one moment."""
        return self._look


def watched(gpu: Gpu) -> Watched:
    """A GPU of the facts with one sample, at 0 s."""
    unheld = dict.fromkeys((n for n in GpuSample.__struct_fields__ if n not in (*_SHARED, "at")), NOT_HELD)
    sample = GpuSample(at=0.0, **{name: getattr(gpu, name) for name in _SHARED}, **unheld)
    processes = gpu.processes
    return Watched(
        key=f"{gpu.vendor} {gpu.index}",
        vendor=gpu.vendor,
        index=gpu.index,
        device=device_of(gpu),
        samples=(sample,),
        processes=tuple(map(_process, processes)) if isinstance(processes, tuple) else processes,
    )


def _process(process: FactsProcess) -> MonitorProcess:
    shared = {name: value for name, value in msgspec.structs.asdict(process).items() if name != "state"}
    return MonitorProcess(kind=NOT_HELD, command=NOT_HELD, host_memory=NOT_HELD, age=NOT_HELD, **shared)
