"""Keeps what a program wrote last, and what means something of all that it wrote before."""

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

from gpudoctor.symptoms.log import Log
from gpudoctor.symptoms.scanner import Scanner

LIMIT = 8 << 20
# The share of the time that may go into reading along what is let go of: a program that writes without end keeps its
# pace, and not all of its lines are read then.
SHARE = 0.25


class Tail:
    """What was written, in the order in which it came; standard output and standard error each in one piece."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._lock = Lock()
        self._log = Log()
        self._scanners: dict[int, Scanner] = {}
        self._begun, self._spent = time.monotonic(), 0.0

    def take(self, stream: int) -> Callable[[bytes], None]:
        """What takes the pieces of a stream."""
        return lambda data: self._add(stream, data)

    def log(self) -> Log:
        """What all of it says; nothing is kept afterwards."""
        with self._lock:
            while self._kept:
                self._scan(*self._kept.popleft())
            for scanner in self._scanners.values():
                scanner.close()
        return self._log

    def _add(self, stream: int, data: bytes) -> None:
        with self._lock:
            self._kept.append((stream, data))
            self._size += len(data)
            while self._size > LIMIT:
                stream, data = self._kept.popleft()
                self._size -= len(data)
                if self._spent < SHARE * (time.monotonic() - self._begun):
                    begun = time.monotonic()
                    self._scan(stream, data)
                    self._spent += time.monotonic() - begun

    def _scan(self, stream: int, data: bytes) -> None:
        if stream not in self._scanners:
            self._scanners[stream] = Scanner(self._log)
        self._scanners[stream].feed(data)
