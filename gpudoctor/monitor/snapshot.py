"""What a source of samples is, and what it shows at a moment."""

from __future__ import annotations

from typing import Protocol

import msgspec

from gpudoctor.maybe import Maybe
from gpudoctor.sampling.history import History
from gpudoctor.sampling.lines import NOT, GpuSample, HostMemory, MonitorDevice, MonitorProcess

LIVE, REPLAYED, STILL = "live", "replayed", "still"


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU over time.

    Attributes:
        key: what tells it from others: "nvidia 0".
        vendor: nvidia, amd.
        index: NVML's or KFD's.
        device: what hardly changes.
        samples: oldest first.
        processes: who uses it.
        refused: why it cannot be asked; None: it can.
    """

    key: str
    vendor: str
    index: int
    device: MonitorDevice = MonitorDevice()
    samples: tuple[GpuSample, ...] = ()
    processes: Maybe[tuple[MonitorProcess, ...]] = NOT
    refused: str | None = None

    @property
    def label(self) -> str:
        """For people."""
        return f"GPU {self.index}"

    @property
    def last(self) -> GpuSample | None:
        """The newest sample."""
        return self.samples[-1] if self.samples else None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a source shows at a moment.

    Attributes:
        kind: live, replayed, still.
        title: of a recording.
        now: the time on the samples' clock.
        devices: NVIDIA's first, by index.
        troubles: what goes wrong at the moment, a sentence each; the values that stand are old then.
        waiting: the drivers have been asked, and have not answered yet.
        absent: why there is nothing to ask, a sentence a vendor.
        host: the machine's memory; None: nothing is known of it.
    """

    kind: str
    title: str = ""
    now: float = 0.0
    devices: tuple[Watched, ...] = ()
    troubles: tuple[str, ...] = ()
    waiting: bool = False
    absent: tuple[str, ...] = ()
    host: HostMemory | None = None


class SampleSource(Protocol):
    """Delivers samples while it runs; `look` is quick, from any thread, and never waits."""

    def start(self) -> None:
        """Begin, or go on."""

    def stop(self) -> None:
        """Stop asking; what was told stays."""

    def look(self) -> Snapshot:
        """What there is now."""


def devices(history: History) -> tuple[Watched, ...]:
    """All GPUs of a history, NVIDIA's first."""
    with history.changed:
        kept = sorted(history.gpus.items(), key=lambda item: (item[1].vendor != "nvidia", item[1].index))
        return tuple(
            Watched(
                key=key,
                vendor=one.vendor,
                index=one.index,
                device=one.device,
                samples=tuple(one.samples),
                processes=one.processes,
                refused=one.refused,
            )
            for key, one in kept
        )
