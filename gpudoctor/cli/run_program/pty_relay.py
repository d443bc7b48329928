"""Passes on what a program writes, at once and byte for byte, and lets us read along; a terminal stays a terminal."""

import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

CHUNK = 1 << 16
# Indices of the attributes of a terminal, termios(3).
IFLAG, OFLAG, CFLAG, LFLAG, CC = 0, 1, 2, 3, 6
# What nobody switches off but who wants each key as it is typed.
RAW = termios.ICANON | termios.ECHO | termios.ISIG


class Relay:
    """One way from the program to where we write: a pseudo-terminal where that is a terminal, a pipe elsewhere.

    Args:
        target: the descriptor to write to.
        keep: gets each piece after it has been written.
    """

    def __init__(self, target: int, keep: Callable[[bytes], object]) -> None:
        self._target, self._keep = target, keep
        self._mirror = Mirror(target) if os.isatty(target) else None
        if self._mirror is not None:
            self._source, self.inner = self._mirror.source, self._mirror.inner
        else:
            self._source, self.inner = os.pipe()
        self._last, self._writing = time.monotonic(), False
        self._thread = Thread(target=self._run, daemon=True, name=f"relay {target}")

    def start(self) -> None:
        """Begin, once the program has its end."""
        os.close(self.inner)
        self._thread.start()

    def end(self, quiet: float) -> None:
        """Wait until everything is passed on; what a process in the background holds open is given up when quiet."""
        begun = time.monotonic()
        while self._thread.is_alive() and (self._writing or time.monotonic() - max(begun, self._last) < quiet):
            self._thread.join(0.02)
        self.rest()

    def rest(self) -> None:
        """Give the terminal back as it was, while the program is stopped or after it has ended."""
        if self._mirror is not None:
            self._mirror.restore()

    def resize(self) -> None:
        """Give the program's terminal the size of ours."""
        if self._mirror is not None:
            self._mirror.resize()

    def _run(self) -> None:
        try:
            while data := self._read():
                if self._mirror is not None:
                    self._mirror.follow()
                self._writing = True
                self._write(data)
                self._writing, self._last = False, time.monotonic()
                self._keep(data)
        except OSError:  # whoever read us has gone: the program is told by its own next write
            pass
        finally:
            self._writing = False
            with suppress(OSError):
                os.close(self._source)

    def _read(self) -> bytes:
        try:
            return os.read(self._source, CHUNK)
        except OSError:  # EIO: nobody holds the other end of the terminal any more, pty(7)
            return b""

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._target, view) :]
            except BlockingIOError:  # somebody who shares the descriptor has made it so
                select.select([], [self._target], [])


class Mirror:
    """A pseudo-terminal in front of a terminal: of its size, and what the program sets on it is set on the real one.

    The program's standard input stays the real terminal, and so do its session, its process group and its job
    control; only what it writes goes by us. A program that switches the terminal's modes does so on any of its
    standard streams, so a change that is made on ours is carried over.
    """

    def __init__(self, real: int) -> None:
        self._real = real
        self.source, self.inner = os.openpty()
        self._base: list[Any] = termios.tcgetattr(real)
        ours = termios.tcgetattr(real)
        ours[OFLAG] &= ~termios.OPOST  # the real terminal makes \r\n of \n; we pass on what was written
        termios.tcsetattr(self.inner, termios.TCSANOW, ours)
        self._first: list[Any] = termios.tcgetattr(self.inner)
        self._now = self._first
        self.resize()

    def resize(self) -> None:
        """Take over the real terminal's size."""
        with suppress(OSError):
            size = fcntl.ioctl(self._real, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
            fcntl.ioctl(self.source, termios.TIOCSWINSZ, size)

    def follow(self) -> None:
        """Carry over what the program has changed."""
        with suppress(termios.error):
            now = termios.tcgetattr(self.source)
            if now != self._now and self._in_front():
                self._now = now
                termios.tcsetattr(self._real, termios.TCSANOW, self._wanted(now))

    def restore(self) -> None:
        """Take back what was carried over."""
        with suppress(termios.error):
            if self._now != self._first and self._in_front():
                self._now = self._first
                termios.tcsetattr(self._real, termios.TCSADRAIN, self._base)

    def _in_front(self) -> bool:
        """Whether we are in the foreground: a process in the background may not touch the terminal."""
        try:
            return os.tcgetpgrp(self._real) == os.getpgrp()
        except OSError:
            return False

    def _wanted(self, now: list[Any]) -> list[Any]:
        """The real terminal's attributes with the same changes."""
        wanted = list(self._base)
        for flag in (IFLAG, OFLAG, CFLAG, LFLAG):
            wanted[flag] = self._base[flag] ^ self._first[flag] ^ now[flag]
        if not now[LFLAG] & RAW:
            wanted[OFLAG] &= ~termios.OPOST
        wanted[CC] = now[CC]
        return wanted
