"""Runs a command on a node of a Ray cluster for gpudoctor, under a deadline; its output comes back as it is written.

Ray carries this module there by value: nothing of gpudoctor needs to be importable on the node. Standard library only,
Python 3.8 and newer.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import signal
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LOOK = 0.2  # seconds between two looks at the command
TERM = 2.0  # seconds between asking the command to end and killing it, and after that before it is left behind
PIECE = 1 << 15  # bytes: objects below 100 KB travel with Ray's answer, and do not die with the node
WORDS = 2000  # bytes of standard error that are kept
# Ray writes these into the environment of its workers, by what the task was given: nothing.
SET_BY_RAY = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR",
    "ZE_AFFINITY_MASK", "OMP_NUM_THREADS",
)  # fmt: skip


def on_node(argv: list[str], seconds: float) -> Iterator[Any]:
    """Give b"" as soon as it begins, what the command writes as it comes, and at last how it ended.

    That is {"missing": why it cannot be started}, or {"code": as Popen has it, or None, "late": whether the deadline
    had to end it, "words": the end of its standard error}.
    """
    yield b""
    try:
        command = RayCommand(argv)
    except OSError as error:
        yield {"missing": error.strerror or str(error)}
        return
    try:
        yield from command.output(time.monotonic() + seconds)
    finally:
        command.close()
    yield {"code": command.process.poll(), "late": command.late, "words": command.words.decode(errors="replace")}


def word() -> Iterator[bytes]:
    """A word from a worker, to see that it comes."""
    yield b""


class RayCommand:
    """A command in a group of its own, which the kernel kills where this worker dies.

    A pipe closes then, whose other end signals the group: fcntl(2), F_SETOWN and F_SETSIG.
    """

    def __init__(self, argv: list[str]) -> None:
        self.late, self.words, self._quiet = False, b"", 0
        held, self._lifeline = os.pipe()
        try:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                env=surroundings(), start_new_session=True, pass_fds=(held,),
            )  # fmt: skip
            fcntl.fcntl(held, fcntl.F_SETOWN, -self.process.pid)
            fcntl.fcntl(held, 10, signal.SIGKILL)  # F_SETSIG, which the module names from 3.9 on: asm-generic/fcntl.h
            fcntl.fcntl(held, fcntl.F_SETFL, fcntl.fcntl(held, fcntl.F_GETFL) | os.O_ASYNC)
        except OSError:
            os.close(self._lifeline)
            raise
        finally:
            os.close(held)
        self._streams = selectors.DefaultSelector()
        self._streams.register(self.process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
        self._streams.register(self.process.stderr, selectors.EVENT_READ)  # type: ignore[arg-type]

    def output(self, until: float) -> Iterator[bytes]:
        """Give what it writes until it ends; at `until`, of time.monotonic(), it is ended."""
        while not self._over():
            yield from self._read()
            if time.monotonic() > until:
                if self.late:  # not even SIGKILL has ended it
                    return
                self.late = True
                self._end(signal.SIGTERM)
                yield from self._rest(time.monotonic() + TERM)
                self._end(signal.SIGKILL)
                until = time.monotonic() + TERM

    def _rest(self, until: float) -> Iterator[bytes]:
        while not self._over() and time.monotonic() < until:
            yield from self._read()

    def _over(self) -> bool:
        """Whether it is dead, and its streams closed or silent: a grandchild may hold them open."""
        return self.process.poll() is not None and (not self._streams.get_map() or self._quiet > 1)

    def _read(self) -> Iterator[bytes]:
        if not self._streams.get_map():
            time.sleep(LOOK / 4)
            return
        ready = self._streams.select(LOOK)
        self._quiet = 0 if ready else self._quiet + 1
        for key, _ in ready:
            data = os.read(key.fd, PIECE)
            if not data:
                self._streams.unregister(key.fileobj)
            elif key.fileobj is self.process.stdout:
                yield data
            else:
                self.words = (self.words + data)[-WORDS:]

    def _end(self, how: int) -> None:
        try:
            os.killpg(self.process.pid, how)
        except OSError:
            pass

    def close(self) -> None:
        """Kill what is left of its group, and let go of it."""
        self._end(signal.SIGKILL)
        os.close(self._lifeline)
        self._streams.close()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def surroundings() -> dict[str, str]:
    """The worker's environment, with the node's own values for what Ray sets: those of its raylet, the parent."""
    found = dict(os.environ)
    try:
        with open("/proc/%d/environ" % os.getppid(), "rb") as file:
            above = dict(one.split(b"=", 1) for one in file.read().split(b"\0") if b"=" in one)
    except OSError:
        above = {}
    for name in SET_BY_RAY:
        found.pop(name, None)
        if name.encode() in above:
            found[name] = os.fsdecode(above[name.encode()])
    return found
