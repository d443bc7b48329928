"""Measures commands side by side: interleaved rounds, wall time, and the memory of the whole process tree."""

import contextlib
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psutil

LIMIT = 300.0  # seconds after which a command counts as hung
PAUSE = 0.001  # seconds between two looks at the memory


class Command(NamedTuple):
    """A command line under the name that the tables give it."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str = "/"


class Times(NamedTuple):
    """Seconds of wall time over all rounds."""

    least: float
    median: float
    most: float


def plain_environment() -> dict[str, str]:
    """Ours without what changes Python itself: bytecode is used and, in the rounds that warm up, written.

    Nor does pip's configuration of this machine count, which only some machines have.
    """
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PIP_"))
    }
    return plain | {"PIP_CONFIG_FILE": os.devnull}


def run(command: Command) -> float:
    """Run once; seconds of wall time. A timer ends what hangs: waiting with a timeout looks every 50 ms only."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command.argv, env=dict(command.env), cwd=command.cwd,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    timer = threading.Timer(LIMIT, process.kill)
    timer.start()
    process.wait()
    timer.cancel()
    return time.perf_counter() - begun


def interleaved(commands: Sequence[Command], rounds: int, warm: int = 2) -> dict[str, Times]:
    """Run the commands in turn, so that what slows this machine down for a while slows all of them."""
    for command in commands:
        for _ in range(warm):
            run(command)
    taken: dict[str, list[float]] = {command.name: [] for command in commands}
    for number in range(rounds):
        for command in commands if number % 2 else reversed(commands):
            taken[command.name].append(run(command))
    return {name: Times(min(each), statistics.median(each), max(each)) for name, each in taken.items()}


def memory(command: Command) -> dict[str, float]:
    """The peak memory of one run in MiB.

    `largest` is ru_maxrss of the largest process, exact; a small shell starts the command, because a child begins
    with the peak of its parent. `tree` is the largest sum seen over all processes of the proportional set size, in
    which a page that n processes share counts 1/n in each; it is looked at every few milliseconds.
    """
    process = _through_shell(command)
    top, tree = psutil.Process(process.pid), 0
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        tree = max(tree, sum(_proportional(one) for one in _family(top)))
        time.sleep(PAUSE)
    process.returncode = os.waitstatus_to_exitcode(ended[1])
    return {"largest": ended[2].ru_maxrss / 1024, "tree": tree / (1 << 20)}


def _through_shell(command: Command) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; exit $?', "sh", *command.argv], env=dict(command.env), cwd=command.cwd,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _family(top: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return list(top.children(recursive=True))  # without the shell, which is ours
    return []


def _proportional(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error, OSError):
        found: Any = process.memory_full_info()
        return int(found.pss)
    return 0
