"""A source out of recorded lines, played at the speed at which they were recorded, over and over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import msgspec

from gpudoctor.monitor.snapshot import REPLAYED, Snapshot, devices
from gpudoctor.sampling.history import History
from gpudoctor.sampling.lines import SCHEMA, SampleLine, decode

LARGEST = 64 << 20  # bytes: a day of eight GPUs
LEAD = 0.5  # share of the recording that is there at once, so that the charts are not empty


class RecordingError(Exception):
    """A recording that cannot be played, in one sentence."""


def read(data: bytes) -> tuple[SampleLine, ...]:
    """Return the lines of a recording.

    Raises:
        RecordingError: it is none, or is broken.
    """
    if len(data) > LARGEST:
        raise RecordingError(f"The recording is larger than {LARGEST >> 20} MiB.")
    found = []
    for number, text in enumerate(data.splitlines(), 1):
        if text.strip():
            try:
                found.append(decode(text))
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise RecordingError(f"Line {number} of the recording is invalid: {error}.") from None
    if not found or found[0].schema != SCHEMA:
        raise RecordingError(f'The file is not a recording: its first line does not contain "schema": "{SCHEMA}".')
    return tuple(found)


def opened(path: str) -> tuple[SampleLine, ...]:
    """Return the lines of a recording in a file.

    Raises:
        RecordingError: it cannot be read, or is no recording.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise RecordingError(f"The recording {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    return read(data)


class Replay:
    """Plays lines while it runs; stopped, its time stands still.

    Args:
        lines: in the order of their time. A line without a time of its own (`at`, or that of its sample) belongs to
            the line before it.
        clock: the time in seconds.
    """

    def __init__(self, lines: Iterable[SampleLine], clock: Callable[[], float] = time.monotonic) -> None:
        lines = tuple(lines)
        self._title = next((line.title for line in lines if line.title), "")
        self._lines = tuple(_timed(lines))
        self._clock, self._since = clock, 0.0
        self._played = LEAD * self._length  # seconds of the recording, its repetitions included
        self._running, self._next, self._round = False, 0, 0
        self._history = History()

    @property
    def _length(self) -> float:
        """Seconds from the first line to one second after the last, where it begins again."""
        return self._lines[-1][0] - self._lines[0][0] + 1.0 if self._lines else 0.0

    def start(self) -> None:
        """Play."""
        if not self._running:
            self._since, self._running = self._clock(), True

    def stop(self) -> None:
        """Stand still."""
        if self._running:
            self._played, self._running = self._now(), False

    def look(self) -> Snapshot:
        """What was told up to now."""
        now = self._now()
        self._catch_up(now)
        return Snapshot(
            kind=REPLAYED, title=self._title, now=now, devices=devices(self._history), host=self._history.host
        )

    def _now(self) -> float:
        return self._played + (self._clock() - self._since if self._running else 0.0)

    def _catch_up(self, now: float) -> None:
        if not self._lines:
            return
        first = self._lines[0][0]
        # After a long pause (a laptop that slept) one round is enough: older samples would be thrown away.
        self._round = max(self._round, int(now // self._length) - 1)
        while True:
            later = self._round * self._length - first
            at, line = self._lines[self._next]
            if at + later > now:
                return
            self._history.take(line, line.vendor or "nvidia", later)
            self._next += 1
            if self._next == len(self._lines):
                self._next, self._round = 0, self._round + 1


def _timed(lines: Iterable[SampleLine]) -> Iterable[tuple[float, SampleLine]]:
    """Lines about a GPU or the machine, with their times, which never go back."""
    at: float | None = None
    for line in lines:
        if line.gpu is None and line.host is None:
            continue
        own = line.sample.at if line.sample is not None else line.at
        at = own if at is None or (own is not None and own > at) else at
        if at is None:
            at = 0.0
        yield at, line
