"""What is kept of each GPU's lines, in bounded memory; written by one thread and read by others."""

from __future__ import annotations

from collections import deque
from threading import Condition

import msgspec

from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.sampling.lines import (
    NOT,
    Counters,
    GpuSample,
    HostMemory,
    MonitorDevice,
    MonitorProcess,
    SampleLine,
    device,
)

MAX_SAMPLES = 1200  # of a GPU: twenty minutes at one a second; those of eight GPUs take some 8 MiB
NUMBERS = 3  # digits: no machine has a thousand GPUs, and a recording may claim anything


class KeptSamples:
    """What is kept of one GPU, oldest first."""

    def __init__(self, vendor: str, index: int, max_samples: int) -> None:
        self.vendor, self.index = vendor, index
        self.device = MonitorDevice()
        self.samples: deque[GpuSample] = deque(maxlen=max_samples)
        self.counters: deque[Counters] = deque(maxlen=max_samples)
        self.processes: Maybe[tuple[MonitorProcess, ...]] = NOT
        self.refused: str | None = None


class History:
    """The GPUs and what was reported of them.

    Args:
        max_samples: of each GPU; older ones are forgotten.

    Attributes:
        changed: guards everything, and is notified of each line.
        gpus: by vendor and index: "nvidia 0".
        host: the machine's memory.
    """

    def __init__(self, max_samples: int = MAX_SAMPLES) -> None:
        self._max_samples = max_samples
        self.changed = Condition()
        self.gpus: dict[str, KeptSamples] = {}
        self.host: HostMemory | None = None

    def take(self, line: SampleLine, vendor: str, later: float = 0.0) -> None:
        """Take note of a line about a GPU or the machine; others are passed over.

        Args:
            line: decoded.
            vendor: whose driver it is from.
            later: seconds that are added to the sample's time.
        """
        with self.changed:
            self.host = line.host or self.host
            word, _, number = (line.gpu or "").partition(" ")
            if word == "GPU" and number.isdecimal() and len(number) <= NUMBERS:
                index = int(number)
                self._take(
                    line,
                    self.gpus.setdefault(f"{vendor} {index}", KeptSamples(vendor, index, self._max_samples)),
                    later,
                )
            self.changed.notify_all()

    def _take(self, line: SampleLine, kept: KeptSamples, later: float) -> None:
        if isinstance(line.refused, Unknown):
            kept.refused = line.refused.unknown
        if line.device is not None:
            kept.device = _told(line.device, kept.device)
        if line.processes is not None:
            kept.processes = line.processes
        if line.counters is not None:
            kept.counters.append(line.counters)
        if line.sample is not None:
            at = line.sample.at + later
            kept.samples.append(msgspec.structs.replace(line.sample, at=at) if later else line.sample)
            kept.refused = None


def _told(values: dict[str, object], before: MonitorDevice) -> MonitorDevice:
    try:
        return device(values, before)
    except msgspec.ValidationError:  # the driver told nonsense
        return before
