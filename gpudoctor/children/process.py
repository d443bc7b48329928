"""One child process: started, watched, signalled and collected, with no call that can block for long."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from gpudoctor.children.output import KeptOutput, LineSplitter

if sys.platform != "win32":
    import fcntl

_CHUNK = 1 << 16  # bytes: the default capacity of a pipe, see pipe(7)
_POLL = 0.02  # seconds between two looks at a child; output wakes us earlier
# The same for one that has run for long: a 200th of its age, so that children that run for hours cost nothing.
_SLOWEST_POLL, _OF_AGE = 0.25, 200
_QUIET, _DRAIN = 0.1, 0.25  # seconds of silence, and in all, after which a dead child's pipes are given up

# Reentrant, because a signal handler may end the children while its own thread holds it; and held for a few system
# calls only, none of which waits, so that the handler's thread gets it from any other.
LOCK = threading.RLock()
LIVE: set[Child] = set()
ABANDONED: list[Child] = []
# Of a thread: `others`, which is called when the thread begins to wait for a child, so that others go on meanwhile.
WAITING = threading.local()


class Child:
    """A child from its start until it is collected; only `send`, `exited` and `reap` are for other threads.

    Attributes:
        closing: of the class: no child is started any more. No `Event`, whose lock a signal handler cannot take.
    """

    closing = False

    def __init__(self, argv: tuple[str, ...], on_line: Callable[[str], object] | None) -> None:
        self.argv = argv
        self.out, self.err = KeptOutput(), KeptOutput()
        self.lines = LineSplitter(on_line) if on_line else None
        self.failure: Exception | None = None
        self.status: os.waitid_result | None = None
        self.cancelled = self.timed_out = False
        self.gone = True  # not started yet, or collected: its pid, if it has one, may be anybody's
        # Unlike epoll it needs no descriptor of its own, and unlike `selectors` no millisecond to import.
        self._poll = select.poll()
        self._streams: dict[int, Callable[[bytes], object] | None] = {}  # who takes what is read; None: stdin
        self._popen: subprocess.Popen[bytes] | None = None
        self._spawned = threading.Event()
        self._input = b""
        self._lifeline: int | None = None

    @property
    def pid(self) -> int | None:
        """The process id, which is the group's and the session's too; None before the fork."""
        return getattr(self._popen, "pid", None)

    def start(self, stdin: bytes, env: Mapping[str, str] | None, cwd: str, deadline: float) -> None:
        """Start the program; where exec itself hangs (a dead network mount), come back at the deadline.

        That is why a thread starts it, and why by fork: with vfork the whole interpreter stands still
        until exec returns. The fork costs 1.3 ms more (measured at 30 MiB resident).
        """
        subprocess._USE_VFORK = False  # type: ignore[misc]
        self._input = stdin
        self._popen = subprocess.Popen.__new__(subprocess.Popen)  # shows its pid while __init__ still waits
        with LOCK:
            LIVE.add(self)
            self.gone = self.cancelled = Child.closing
        if self.gone:
            return
        try:
            threading.Thread(target=self._spawn, args=(self._popen, env, cwd), daemon=True).start()
        except RuntimeError as error:  # this user may have no more threads
            self.failure, self.gone = OSError(0, str(error)), True
        while not (self.gone or self.cancelled or self._spawned.wait(_POLL) or time.monotonic() > deadline):
            pass

    def _spawn(self, popen: subprocess.Popen[bytes], env: Mapping[str, str] | None, cwd: str) -> None:
        stdin = subprocess.PIPE if self._input else subprocess.DEVNULL
        try:
            held, self._lifeline = os.pipe()
            try:
                subprocess.Popen.__init__(
                    popen, self.argv, bufsize=0, env=env, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, start_new_session=True, pass_fds=(held,),
                )  # fmt: skip
                self._tie(held)
            finally:
                os.close(held)
        except Exception as error:
            self.failure, self.gone = error, True
        self._spawned.set()

    def _tie(self, held: int) -> None:
        """Have the kernel kill the group when we die, even by SIGKILL: then our end of the pipe closes.

        The child inherits the reading end, and fcntl(2) lets it signal a group. PR_SET_PDEATHSIG would
        follow the thread that forked, not the process, and would miss the grandchildren.
        """
        with contextlib.suppress(OSError):
            fcntl.fcntl(held, fcntl.F_SETOWN, -(self.pid or 0))
            fcntl.fcntl(held, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(held, fcntl.F_SETFL, fcntl.fcntl(held, fcntl.F_GETFL) | os.O_ASYNC)

    def conduct(self, deadline: float, grace: float, late: Callable[[], bool] | None = None) -> None:
        """Read the output until the child ends; past the deadline (of time.monotonic), or when late, end it."""
        self._open()
        let_others_go_on()
        if not self._watch(deadline, lambda: self.cancelled or (late is not None and late())):
            self.timed_out = not self.cancelled
            for kill in (signal.SIGTERM, signal.SIGKILL):
                self.send(kill, signal.SIGCONT)
                if self._watch(time.monotonic() + grace):
                    break
        self._drain()

    def _open(self) -> None:
        popen = self._popen
        if not self._spawned.is_set() or self.gone or not (popen and popen.stdout and popen.stderr):
            return
        self._streams = {popen.stdout.fileno(): self._take_out, popen.stderr.fileno(): self.err.add}
        for fd in self._streams:
            self._poll.register(fd, select.POLLIN)
        if popen.stdin:
            os.set_blocking(popen.stdin.fileno(), False)
            self._streams[popen.stdin.fileno()] = None
            self._poll.register(popen.stdin, select.POLLOUT)

    def _take_out(self, data: bytes) -> None:
        self.out.add(data)
        if self.lines:
            self.lines.add(data)

    def _watch(self, deadline: float, leave: Callable[[], bool] = lambda: False) -> bool:
        pause, begun = _POLL / 40, time.monotonic()
        while not self.exited():
            now = time.monotonic()
            left, poll = deadline - now, min(_SLOWEST_POLL, max(_POLL, (now - begun) / _OF_AGE))
            if left <= 0 or leave():
                return False
            if not self._streams:  # both streams closed: most likely it is about to exit
                pause = min(2 * pause, _POLL)
            self._read(min(left, poll if self._streams else pause))
        return True

    def _read(self, seconds: float) -> bool:
        ready = self._poll.poll(int(seconds * 1000) + 1)
        for fd, _ in ready:
            if (take := self._streams[fd]) is None:
                self._feed(fd)
            elif data := os.read(fd, _CHUNK):
                take(data)
            else:
                self._forget(fd)
        return bool(ready)

    def _forget(self, fd: int) -> None:
        self._poll.unregister(fd)
        del self._streams[fd]

    def _feed(self, fd: int) -> None:
        try:
            self._input = self._input[os.write(fd, self._input) :]
        except BrokenPipeError:
            self._input = b""
        if not self._input and self._popen and self._popen.stdin:
            self._forget(fd)
            self._popen.stdin.close()

    def _drain(self) -> None:
        """Read what is left; a grandchild may hold the pipes open, so not until they close."""
        end = time.monotonic() + _DRAIN
        for fd in [fd for fd, take in self._streams.items() if take is None]:  # stdin: nobody will read it
            self._forget(fd)
        while self._streams and time.monotonic() < end and self._read(_QUIET):
            pass

    def send(self, *signals: signal.Signals) -> None:
        """Send signals to the child's group, or to the child while it has not made its group yet."""
        with LOCK:
            if self.gone or not self.pid:
                return
            for number in signals:
                try:
                    os.killpg(self.pid, number)
                except PermissionError:  # a set-uid program
                    pass
                except ProcessLookupError:
                    with contextlib.suppress(OSError):
                        os.kill(self.pid, number)

    def exited(self) -> bool:
        """Whether the child is dead; it stays a zombie, so that its pid stays its own."""
        with LOCK:
            if not self.gone and self.pid:
                try:
                    return bool(os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
                except ChildProcessError:  # somebody ignores SIGCHLD, or waited for all children
                    self.gone = True
            return self.gone

    def reap(self) -> bool:
        """Kill what is left of the group, and collect the child if it is dead; whether it is gone."""
        with LOCK:
            self.send(signal.SIGKILL)
            if not self.gone and self.pid and self._popen:
                with contextlib.suppress(ChildProcessError):
                    self.status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG)
                    if self.status is None:
                        return False
                self._popen.returncode = -1  # else Popen would wait for it once more
                self.gone = True
            return self.gone

    def close(self) -> None:
        """Collect or abandon the child, and close our ends of its pipes."""
        with LOCK:
            if not self.reap():
                ABANDONED.append(self)
            LIVE.discard(self)
        self._streams.clear()
        for stream in (getattr(self._popen, name, None) for name in ("stdin", "stdout", "stderr")):
            if stream:
                stream.close()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None


def let_others_go_on() -> None:
    """Let another thread go on with the rest: this one begins to wait for a child."""
    others: Callable[[], object] | None = getattr(WAITING, "others", None)
    if others:
        others()


def wait_for(children: Iterable[Child], seconds: float) -> None:
    """Wait until all have exited (they stay zombies), at most so many seconds."""
    children, end = tuple(children), time.monotonic() + seconds
    while not all(child.exited() for child in children) and time.monotonic() < end:
        time.sleep(_POLL / 4)
