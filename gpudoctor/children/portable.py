"""A child process where the kernel is not Linux's: the same deadline and the same words, with fewer guarantees.

macOS before Python 3.13 has no waitid(2) and no F_SETSIG, and Windows none of process groups, signals and poll(2).
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from gpudoctor.children.output import KeptOutput, LineSplitter

_CHUNK, _POLL = 1 << 16, 0.02
_DRAIN = 0.25  # seconds for the rest of its output: a grandchild may hold the pipes open
_LIVE: set["_Child"] = set()
_LOCK = threading.RLock()


class _Child:
    """One running child, and what it wrote so far."""

    def __init__(self, popen: "subprocess.Popen[bytes]", on_line: Callable[[str], object] | None) -> None:
        self.popen, self.cancelled = popen, False
        self.out, self.err = KeptOutput(), KeptOutput()
        self.lines = LineSplitter(on_line) if on_line else None
        self.fault: Exception | None = None
        self.readers = [
            threading.Thread(target=self._read, args=(popen.stdout, self._take), daemon=True),
            threading.Thread(target=self._read, args=(popen.stderr, self.err.add), daemon=True),
        ]

    def _read(self, stream: IO[bytes], take: Callable[[bytes], None]) -> None:
        with contextlib.suppress(OSError, ValueError), stream:  # closed under us
            while data := os.read(stream.fileno(), _CHUNK):
                take(data)

    def _take(self, data: bytes) -> None:
        self.out.add(data)
        try:
            if self.lines:
                self.lines.add(data)
        except Exception as fault:  # of whoever listens; raised where they wait
            self.fault, self.lines = fault, None

    def feed(self, data: bytes) -> None:
        """Write what it can read, then the end."""

        def write() -> None:
            with contextlib.suppress(OSError, ValueError):
                if self.popen.stdin:
                    self.popen.stdin.write(data)
                    self.popen.stdin.close()

        threading.Thread(target=write, daemon=True).start()

    def end(self, kill: bool) -> None:
        """Ask it to end, or kill it with its group."""
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                self.popen.kill()
            else:
                os.killpg(self.popen.pid, signal.SIGKILL if kill else signal.SIGTERM)

    def wait(self, seconds: float, leave: Callable[[], bool] = lambda: False) -> bool:
        """Whether it ended in time, and nobody wanted to leave before."""
        end = time.monotonic() + seconds
        while self.popen.poll() is None:
            if leave() or time.monotonic() >= end:
                return False
            time.sleep(_POLL)
        return True


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None,
    cwd: str,
    stdin: bytes,
    grace: float,
    on_line: Callable[[str], object] | None,
    late: Callable[[], bool] | None,
) -> dict[str, Any]:
    """Run a program; gives the fields of gpudoctor.child.ChildResult.

    Raises:
        Exception: what `on_line` raises; the child is killed first.
    """
    started = time.monotonic()
    try:
        popen = subprocess.Popen(
            list(argv), bufsize=0, env=None if env is None else dict(env), cwd=cwd,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )  # fmt: skip
    except OSError as error:
        return {"argv": tuple(argv), "missing": error.strerror or str(error), "seconds": time.monotonic() - started}
    child = _Child(popen, on_line)
    with _LOCK:
        _LIVE.add(child)
    timed_out = _conduct(child, stdin, started + timeout, grace, late)
    with _LOCK:
        _LIVE.discard(child)
    if child.fault:
        raise child.fault
    return _fields(tuple(argv), child, timed_out) | {"seconds": time.monotonic() - started}


def _conduct(child: _Child, stdin: bytes, deadline: float, grace: float, late: Callable[[], bool] | None) -> bool:
    """Wait for the end; whether its time ran out."""
    timed_out = False
    try:
        for reader in child.readers:
            reader.start()
        if stdin:
            child.feed(stdin)

        def leave() -> bool:
            return child.cancelled or child.fault is not None or bool(late and late())

        if not child.wait(max(0.0, deadline - time.monotonic()), leave):
            timed_out = not child.cancelled and child.fault is None
            child.end(kill=False)
            child.wait(grace)
    finally:
        if timed_out or child.popen.poll() is None:
            child.end(kill=True)  # what is left of its group, too
            child.wait(grace)
    for reader in child.readers:
        reader.join(_DRAIN)
    if any(reader.is_alive() for reader in child.readers):  # a grandchild holds the pipes, so the group is still ours
        child.end(kill=True)
    return timed_out


def _fields(argv: tuple[str, ...], child: _Child, timed_out: bool) -> dict[str, Any]:
    code = child.popen.returncode
    died = code is not None and code < 0 and sys.platform != "win32"
    return {
        "argv": argv,
        "code": None if died else code,
        "signal": signal.Signals(-code).name if died else None,
        "timed_out": timed_out,
        "cancelled": child.cancelled,
        "abandoned": code is None,
        "out": child.out.text(),
        "err": child.err.text(),
    }


def end_all(grace: float) -> None:
    """Kill every running child."""
    with _LOCK:
        children = tuple(_LIVE)
    for child in children:
        child.cancelled = True
        child.end(kill=True)
    for child in children:
        child.wait(grace)
