"""What was told of each GPU, kept in bounded memory; written by one thread and read by others."""

from __future__ import annotations

from collections import deque
from threading import RLock

import msgspec

from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.monitor.samples import NOT, MonitorDevice, MonitorProcess, MonitorSample, SampleLine, device
from gpudoctor.monitor.snapshot import Watched

MOST = 1200  # samples of a GPU: twenty minutes; those of eight GPUs take some 8 MiB
NUMBERS = 3  # digits: no machine has a thousand GPUs, and a recording may claim anything


class _Kept:
    """One GPU."""

    def __init__(self, vendor: str, index: int) -> None:
        self.vendor, self.index = vendor, index
        self.device = MonitorDevice()
        self.samples: deque[MonitorSample] = deque(maxlen=MOST)
        self.processes: Maybe[tuple[MonitorProcess, ...]] = NOT
        self.refused: str | None = None


class History:
    """The GPUs and what was told of them."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = RLock()

    def take(self, line: SampleLine, vendor: str, later: float = 0.0) -> None:
        """Take note of a line about a GPU; others are passed over.

        Args:
            line: decoded.
            vendor: whose driver told it.
            later: seconds that are added to the sample's time.
        """
        word, _, number = (line.gpu or "").partition(" ")
        if word != "GPU" or not number.isdecimal() or len(number) > NUMBERS:
            return
        with self._lock:
            kept = self._kept.setdefault(f"{vendor} {int(number)}", _Kept(vendor, int(number)))
            if isinstance(line.refused, Unknown):
                kept.refused = line.refused.unknown
            if line.device is not None:
                kept.device = _told(line.device, kept.device)
            if line.processes is not None:
                kept.processes = line.processes
            if line.sample is not None:
                at = line.sample.at + later
                kept.samples.append(msgspec.structs.replace(line.sample, at=at) if later else line.sample)
                kept.refused = None

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()

    def devices(self) -> tuple[Watched, ...]:
        """All GPUs, NVIDIA's first."""
        with self._lock:
            kept = sorted(self._kept.items(), key=lambda item: (item[1].vendor != "nvidia", item[1].index))
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


def _told(values: dict[str, object], before: MonitorDevice) -> MonitorDevice:
    try:
        return device(values, before)
    except msgspec.ValidationError:  # the driver told nonsense
        return before
