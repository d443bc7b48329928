"""Work of several devices: one process each (rank.py, ddp_rank.py), started, listened to and ended here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import closing
from io import BytesIO

from ...runner import Hung, Unsupported
from .rank import PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from . import PytorchBackend

SCRIPT = __file__[: -len("ranks.py")] + "rank.py"
CPU_RANKS = 2
DEADLINE = 45.0  # seconds for all of it, most of them importing PyTorch and letting NCCL find its ways
JOINING = 30.0  # seconds for which a rank waits for the others, so that it can still tell
FAREWELL = 1.0  # seconds that the others have for their words, once one has failed
PATIENCE = 0.5  # seconds before somebody who does not end is asked less kindly
KEPT = 40  # last lines of each rank
STAGES = ("import", "join", "step", "all-reduce", "timing")  # that a rank tells, in their order
STATES = {"D": " and hangs in the kernel", "T": " and is stopped", "t": " and is stopped by a debugger"}
LATE = ("timed out", "timeout", "time out")  # what a rank's error has in common that waited in vain for another
# Nothing leaves the machine; a choice of the user's stands. NCCL tells what it warns of, and nothing else.
DEFAULTS = {"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "WARN"}


def allreduce(backend: PytorchBackend, size: int, pause: Callable[[], None]) -> dict[str, Any]:
    """Let the ranks sum, and gather what they tell; as gpudoctor/workers/smoke/backends/base.py has it."""
    count = CPU_RANKS if backend.kind == "cpu" else backend.peers()
    reported, transport = conducted(backend, count, size, pause)
    return {
        "ranks": count,
        "transport": transport,
        "wrong": sum(one["wrong"] for one in reported),
        "seconds": slowest(reported),
        "bytes": size,
    }


def conducted(
    backend: PytorchBackend,
    count: int,
    size: int,
    pause: Callable[[], None],
    script: str = "",
    what: str = "all-reduce",
    **more: Any,
) -> tuple[list[dict[str, Any]], str]:
    """Let the ranks do a script; their answers, and over what they talked.

    Args:
        backend: on its device.
        count: of the ranks.
        size: bytes that each sums.
        pause: called while they work; what it raises ends them.
        script: empty: sums.
        what: it does, for a sentence.
        more: of each rank's task.

    Raises:
        Unsupported: this build of PyTorch has not the library.
        RuntimeError, Hung: as `gathered`.
    """
    library = "gloo" if backend.kind == "cpu" else "nccl"
    distributed = backend.torch.distributed
    if not (distributed.is_available() and getattr(distributed, "is_%s_available" % library, lambda: True)()):
        raise Unsupported("This build of PyTorch has no %s." % library.upper())
    backend.release()
    port = free_port()
    ranks: list[Rank] = []
    try:
        for number in range(count):
            ranks.append(Rank(number, count, library, size, port, script, **more))
            ranks[-1].name += "".join(" (GPU %s)" % name for name in backend.task.get("numbers", ())[number:][:1])
        reported = gathered(ranks, pause, what=what)
    finally:
        end(ranks)
    return reported, "rccl" if backend.kind == "rocm" else library


def slowest(reported: Sequence[dict[str, Any]]) -> list[float]:
    """The seconds of the slowest rank, each time."""
    return [max(each) for each in zip(*(one["seconds"] for one in reported))]


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Rank:
    """One process under its name, and what it tells: the stage that it is in, its answer, and its last lines.

    It belongs to this process's group, so that who ends the group ends it too.
    """

    def __init__(
        self, number: int, count: int, library: str, size: int, port: int, script: str = "", **more: Any
    ) -> None:
        self.number, self.name = number, "rank %d" % number
        self.stage = ""
        self.answer: dict[str, Any] | None = None
        self.lines: deque[str] = deque(maxlen=KEPT)
        task = {"rank": number, "ranks": count, "library": library, "bytes": size, "port": port, "seconds": JOINING}
        task.update(more, parent=os.getpid())
        self.process = subprocess.Popen(
            [sys.executable, script or SCRIPT, json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(DEFAULTS, **os.environ),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with closing(self.process.stdout or BytesIO()) as lines:
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip()
                if text.startswith(PREFIX):
                    message = json.loads(text[len(PREFIX) :])
                    self.stage = message.get("stage", self.stage)
                    self.answer = None if "stage" in message else message
                elif text:
                    self.lines.append(text)

    @property
    def ended(self) -> bool:
        """Whether it has nothing more to tell."""
        return self.process.poll() is not None and not self._reader.is_alive()

    @property
    def failed(self) -> bool:
        """Whether it message an error, or ended without an answer."""
        return "error" in self.answer if self.answer else self.ended

    @property
    def state(self) -> str:
        """One letter of what the kernel says of its process (proc_pid_stat(5)); empty where that is unknown."""
        try:
            with open("/proc/%d/stat" % self.process.pid, encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return ""

    def words(self) -> str:
        """How it failed, with what NCCL warned of, or with its last lines where it message nothing itself."""
        warned = [line for line in self.lines if "WARN" in line]
        if self.answer:
            return "; ".join(["%s: %s" % (self.name, self.answer.get("error", "waits")), *warned])
        code = self.process.poll()
        since = STATES.get(self.state, "")
        since += " since stage %s" % self.stage if self.stage else ""
        how = (
            "sent nothing" + since
            if code is None
            else "died of signal %d" % -code
            if code < 0
            else "ended with %d" % code
        )
        return "; ".join(["%s %s" % (self.name, how), *(warned or list(self.lines)[-3:])])


def gathered(
    ranks: Sequence[Rank], pause: Callable[[], None], seconds: float = DEADLINE, what: str = "all-reduce"
) -> list[dict[str, Any]]:
    """The answers of all ranks.

    Args:
        ranks: that were started.
        pause: called while they work; what it raises ends the wait.
        seconds: the deadline.
        what: they do, for the sentence.

    Raises:
        Hung: they do not end, or one of them waited in vain for another.
        RuntimeError: one of them failed; in its words.
    """
    begun = time.monotonic()
    while not all(rank.answer for rank in ranks) and not any(rank.failed for rank in ranks):
        pause()
        if time.monotonic() - begun > seconds:
            every = " | ".join(rank.words() for rank in ranks)
            raise Hung("%s did not finish within %g seconds%s: %s" % (what, seconds, absent(ranks), every))
        time.sleep(0.02)
    if any(rank.failed for rank in ranks):
        _wait(lambda: all(rank.failed for rank in ranks), FAREWELL)
        pause()
        # Who died comes first: what the others tell follows from it.
        failed = sorted((rank for rank in ranks if rank.failed), key=lambda rank: rank.answer is not None)
        words = " | ".join(rank.words() for rank in failed)
        missing = absent(ranks)
        if missing and any(word in words.lower() for word in LATE):
            raise Hung("%s did not finish%s: %s" % (what, missing, words))
        raise RuntimeError(words)
    return [rank.answer for rank in ranks if rank.answer]


def absent(ranks: Sequence[Rank]) -> str:
    """Who did not arrive where others are, as a part of a sentence; empty where nothing sets one apart."""
    far = {rank.number: STAGES.index(rank.stage) for rank in ranks if rank.stage in STAGES}
    last = max(far.values(), default=0)
    waiting = [rank for rank in ranks if not rank.answer and not rank.ended]
    behind = [rank for rank in waiting if far.get(rank.number, last) < last or rank.state in STATES]
    names = ", ".join(rank.name for rank in behind)
    return "; %s did not arrive in stage %s" % (names, STAGES[last]) if behind and far else ""


def end(ranks: Sequence[Rank]) -> None:
    """Let them end, then ask them to, then make them.

    One that hangs in the driver is left behind, since waiting for it would hang us too.
    """
    for ask in (_close, subprocess.Popen.terminate, subprocess.Popen.kill):
        for rank in ranks:
            ask(rank.process)
        if _wait(lambda: all(rank.process.poll() is not None for rank in ranks), PATIENCE):
            return


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin:
        process.stdin.close()


def _wait(until: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    last = time.monotonic() + seconds
    while not until():
        if time.monotonic() > last:
            return False
        time.sleep(0.01)
    return True
