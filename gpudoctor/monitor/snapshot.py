"""What a source of samples is, and what it shows at a moment."""

from __future__ import annotations

from typing import Protocol

import msgspec

from gpudoctor.maybe import Maybe
from gpudoctor.monitor.samples import NOT, MonitorDevice, MonitorProcess, MonitorSample

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
    samples: tuple[MonitorSample, ...] = ()
    processes: Maybe[tuple[MonitorProcess, ...]] = NOT
    refused: str | None = None

    @property
    def label(self) -> str:
        """For people."""
        return f"GPU {self.index}"

    @property
    def last(self) -> MonitorSample | None:
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
    """

    kind: str
    title: str = ""
    now: float = 0.0
    devices: tuple[Watched, ...] = ()
    troubles: tuple[str, ...] = ()
    waiting: bool = False
    absent: tuple[str, ...] = ()


class SampleSource(Protocol):
    """Delivers samples while it runs; `look` is quick, from any thread, and never waits."""

    def start(self) -> None:
        """Begin, or go on."""

    def stop(self) -> None:
        """Stop asking; what was told stays."""

    def look(self) -> Snapshot:
        """What there is now."""
