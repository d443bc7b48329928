"""What the sampler told of each GPU, kept in bounded memory."""

from __future__ import annotations

import time
from collections import deque
from threading import Condition
from typing import Any

import msgspec

from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown("the driver was not queried")
# Twenty minutes at twenty samples a second; a GPU's take some 5 MiB. Counters come at most ten times a second.
MOST_SAMPLES, MOST_COUNTERS = 24_000, 12_000


class SmokeSample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One look at what changes all the time, in the units of `gpudoctor.facts.Gpu`; `at` is time.monotonic()."""

    at: float
    sm_clock: Maybe[float | None] = NOT
    memory_clock: Maybe[float | None] = NOT
    event_reasons: Maybe[int | None] = NOT  # NVML's bits
    temperature: Maybe[float | None] = NOT
    power: Maybe[float | None] = NOT
    utilization: Maybe[int | None] = NOT
    link_generation: Maybe[int | None] = NOT
    link_width: Maybe[int | None] = NOT


class Counters(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One look at what only grows, and at who else computes on the GPU."""

    at: float
    ecc_corrected: Maybe[int | None] = NOT
    ecc_uncorrected: Maybe[int | None] = NOT
    pcie_replays: Maybe[int | None] = NOT
    others: Maybe[int | None] = NOT


class _WatchLine(msgspec.Struct):
    """A line of workers/watch.py; the last four come from the start of NVML (workers/nvml.py)."""

    gpu: str | None = None
    sample: SmokeSample | None = None
    counters: Counters | None = None
    refused: Maybe[None] = None
    stage: str | None = None
    not_loaded: str | None = None
    no_module: str | None = None
    code: Any = 0
    text: Any = ""


_decode = msgspec.json.Decoder(_WatchLine).decode


class SamplerOutput:
    """The lines of one sampler, taken by its thread and read by others; `changed` guards all of it.

    Attributes:
        changed: is notified of every new line.
        samples, counters: by the GPU's name in the lines, oldest first.
        refused: why a GPU is not watched, by its name.
        stage: what is asked for now.
        failed: why NVML could not be started; None: it could.
        heard: when the last line came (time.monotonic).
    """

    def __init__(self) -> None:
        self.changed = Condition()
        self.samples: dict[str, deque[SmokeSample]] = {}
        self.counters: dict[str, deque[Counters]] = {}
        self.refused: dict[str, str] = {}
        self.stage = "start"
        self.failed: str | None = None
        self.heard = time.monotonic()

    def line(self, text: str) -> None:
        """Take note of a line; one that is none of ours is passed over."""
        try:
            line = _decode(text)
        except (msgspec.DecodeError, UnicodeError):  # cut short by its death, or printed by the interpreter
            return
        with self.changed:
            self.heard = time.monotonic()
            self.stage = line.stage or self.stage
            self.failed = _failure(line) or self.failed
            if line.gpu is not None:
                self._of_gpu(line.gpu, line)
            self.changed.notify_all()

    def _of_gpu(self, gpu: str, line: _WatchLine) -> None:
        if line.sample is not None:
            self.samples.setdefault(gpu, deque(maxlen=MOST_SAMPLES)).append(line.sample)
        if line.counters is not None:
            self.counters.setdefault(gpu, deque(maxlen=MOST_COUNTERS)).append(line.counters)
        if isinstance(line.refused, Unknown):
            self.refused[gpu] = line.refused.unknown


def _failure(line: _WatchLine) -> str | None:
    """Why NVML did not start, where a line says so, in the words of the probe of NVML."""
    if isinstance(line.code, int) and line.code:
        return f"nvmlInit failed with {line.code}: {line.text}"
    if isinstance(line.code, dict):
        return str(line.code.get("unknown"))
    return line.not_loaded or line.no_module
