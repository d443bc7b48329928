"""ssh as ClusterShell starts it, ended gently and heard node by node. Only for callers that have found ClusterShell."""

import ctypes
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable
from threading import Event
from typing import Any

from ClusterShell.Event import EventHandler
from ClusterShell.Worker.Ssh import SshClient, WorkerSsh
from ClusterShell.Worker.Tree import TreeWorker

from gpudoctor.fleet.runner.engine import NodeLine, Over, Tell
from gpudoctor.fleet.runner.engines.ssh_messages import OWN, closed_to_us, verdict

PR_SET_PDEATHSIG = 1  # prctl(2)
_GRACE = 0.5  # seconds between SIGTERM and SIGKILL: ssh needs some milliseconds
_WORDS = 20  # lines of standard error that are kept: the longest message, of a changed host key, has 15
_LONG = 500  # characters kept of such a line
_LONGEST = 1 << 16  # bytes of a line: those of a report are shorter than 4096
_tied = threading.local()


def _tie() -> None:  # pragma: no cover - in the child, where nothing measures
    """In a child that was just forked: have the kernel end it when we die without a word, as by SIGKILL.

    Its session is its own: Ctrl-C is for us, who end it; an ssh that had it too would look like one that failed.
    """
    if tie := getattr(_tied, "prctl", None):
        os.setsid()
        tie(PR_SET_PDEATHSIG, signal.SIGTERM)


os.register_at_fork(after_in_child=_tie)  # ClusterShell offers no place of its own between fork and exec


class Client(SshClient):  # type: ignore[misc]  # ClusterShell has no types
    """One ssh. It dies with us, and is asked to end before it is killed, so that it ends its ProxyCommand."""

    def _start(self) -> Any:
        _tied.prctl = getattr(ctypes.CDLL(None), "prctl", None)
        try:
            return super()._start()
        finally:
            _tied.prctl = None

    def _handle_read(self, sname: str) -> None:
        super()._handle_read(sname)
        stream = self.streams.get(sname)
        if stream is not None and len(stream.rbuf) > _LONGEST:  # nothing of ours
            stream.rbuf = b""

    def _close(self, abort: bool, timeout: bool) -> None:
        if abort and self.popen.poll() is None:
            self.popen.terminate()
            end = time.monotonic() + _GRACE
            while self.popen.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            if self.popen.returncode is not None:  # 255, as if ssh had failed: it was we
                self.popen.returncode = -signal.SIGTERM
        super()._close(abort, timeout)


class Worker(WorkerSsh):  # type: ignore[misc]
    """One ssh for each node; says at once which node was late, where ClusterShell's own says it at the end of all."""

    SHELL_CLASS = Client

    def _on_node_timeout(self, node: str) -> None:
        super()._on_node_timeout(node)
        if isinstance(self.eh, Ear):
            self.eh.late(node)


def command_line(task: Any, node: str, command: str) -> list[str]:
    """The ssh that a task would start for a node."""
    worker = Worker(node, handler=None, command=command)
    worker._set_task(task)
    (client,) = worker._engine_clients()
    return list(client._build_cmd()[0])


class _Heard:
    """What came from a node so far."""

    def __init__(self) -> None:
        self.words: deque[str] = deque(maxlen=_WORDS)
        self.began = False


class Ear(EventHandler):  # type: ignore[misc]
    """Hears what ClusterShell's task tells, in the task's thread, and tells it on in our words.

    Args:
        nodes: whose ends are told, one each.
        tell: where they are told; what it raises ends the run and is told nothing more.
        stop: looked at whenever the task's timer fires.
        seconds: when ssh is ended, for the words about a node that was late.
        limit: the node's own, which is shorter.

    Attributes:
        left: the nodes that are not over.
        fault: what `tell` raised.
    """

    def __init__(self, nodes: Iterable[str], tell: Tell, stop: Event, seconds: float, limit: float) -> None:
        self.left = {node: _Heard() for node in nodes}
        self.fault: BaseException | None = None
        self.ends = float("inf")  # of time.monotonic: when the run as a whole is given up
        self._tell, self._stop, self._seconds, self._limit = tell, stop, seconds, limit

    def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
        """A line of a node."""
        heard = self.left.get(node)
        if heard is None:
            return
        text = msg.decode(errors="replace")
        if sname == worker.SNAME_STDERR or (not heard.began and closed_to_us(text)):  # nologin(8) writes to our output
            heard.words.append(text[:_LONG])
        else:
            heard.began = True
        self._say(NodeLine(node, text))

    def ev_hup(self, worker: Any, node: str, rc: int | None) -> None:
        """The ssh of a node has ended, or the way to it through a gateway."""
        heard = self.left.get(node)
        if heard and rc == os.EX_PROTOCOL and isinstance(worker, TreeWorker):  # ClusterShell's sign for that
            words = f" ({heard.words[-1]})" if heard.words else ""
            self.over(node, "unreachable", f"The connection to the gateway was lost{words}.")
        elif heard:
            self.over(node, *verdict(OWN if rc is None else rc, tuple(heard.words), heard.began))

    def ev_close(self, worker: Any, timedout: bool) -> None:
        """All of them are over; a tree tells here alone who was late."""
        for node in list(worker.iter_keys_timeout()) if timedout else ():
            self.late(node)

    def ev_timer(self, timer: Any) -> None:  # noqa: ARG002  # ClusterShell's signature
        """Time to look whether somebody wants to stop."""
        if self._stop.is_set() or time.monotonic() > self.ends:
            from ClusterShell.Task import task_self

            task_self().abort()  # raises through the task's loop, which ends every ssh

    def late(self, node: str) -> None:
        """A node did not end in time, and its ssh is ended."""
        heard = self.left.get(node)
        silent = "" if heard and heard.began else ", without output"
        why = f"It did not finish within its {self._limit:g} s; ssh was ended after {self._seconds:.0f} s{silent}."
        self.over(node, "timed out", why)

    def over(self, node: str, state: str, why: str) -> None:
        """Tell the end of a node, once."""
        if self.left.pop(node, None) is not None:
            self._say(Over(node, state, why))

    def _say(self, what: NodeLine | Over) -> None:
        if self.fault is not None:  # those who listens has failed; ClusterShell still ends what runs
            return
        try:
            self._tell(what)
        except BaseException as fault:
            self.fault = fault
            raise
