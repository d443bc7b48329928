"""Signals by the thousand, at random moments, to real processes: each ends soon, once, and leaves nothing behind."""

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from tests.cli import BARE
from tests.fleet.runner import local
from tests.probes.environments import script
from tests.standins import clean_up, left_running

ME = [sys.executable, "-m", "gpudoctor"]
FLEET = [sys.executable, local.__file__]
# Takes the terminal that is standard input for its own, as a terminal's window does for its shell.
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
STORMS = {
    "a multiplexer that ends": (signal.SIGHUP, signal.SIGTERM),
    "Ctrl-C held down": (signal.SIGINT,),
    "all": (signal.SIGHUP, signal.SIGTERM, signal.SIGINT),
}
# A command that was told to end by a signal: by its own hand, or by the kernel's before it had begun.
TOLD = {128 + n for n in STORMS["all"]} | {-n for n in STORMS["all"]}
SEEDS = int(os.environ.get("STORMS", "1"))  # more for a longer hunt: STORMS=20 pytest tests/cli/test_storms.py
SOON = 40.0  # seconds: ten times what an end may take, because a test's machine may be busy


class Victim(NamedTuple):
    """A command, how it is started, and the seconds within which it is met.

    Attributes:
        words: the command line.
        within: a storm begins at a random moment before these seconds are over.
        terminal: it gets a terminal of its own.
        stdin: it can read from a pipe that never ends.
        says: what it can read there.
        lasts: it never ends by itself.
    """

    words: tuple[str, ...]
    within: float
    terminal: bool = False
    stdin: bool = False
    says: bytes = b""
    lasts: bool = True


def port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


CALL = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"test","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check","arguments":{"full":true}}}\n'
)
VICTIMS: dict[str, Callable[[Path], Victim]] = {
    "check": lambda at: Victim((*ME, "check", "--timeout", "20"), 1.5),
    "check, shown": lambda at: Victim((*ME, "check", "--timeout", "20"), 1.5, terminal=True),
    "facts into a file": lambda at: Victim((*ME, "facts", "--quick", "-o", str(at / "out/facts.json")), 2.0),
    "smoke": lambda at: Victim((*ME, "smoke", "--timeout", "20"), 1.5),
    "explain": lambda at: Victim((*ME, "explain", "--log", "-"), 1.0, stdin=True),
    "run": lambda at: Victim((*ME, "run", "--", "sleep", "60"), 1.0),
    "run, explaining": lambda at: Victim((*ME, "run", "--", "false"), 2.0),
    "setup": lambda at: Victim((*ME, "setup", "torch", "--run", "--yes"), 2.0),
    "fix": lambda at: Victim((*ME, "fix", "--yes"), 2.0),
    "fleet": lambda at: Victim(
        (*FLEET, "fleet", "run", "local", "hang1,a,down1", "--output", str(at / "out/run")), 1.5
    ),
    "tui": lambda at: Victim((*ME, "tui"), 2.0, terminal=True),
    "tui of a demo": lambda at: Victim((*ME, "tui", "--demo", "mismatch"), 2.0, terminal=True),
    "serve": lambda at: Victim((*ME, "serve", "--demo", "mismatch", "--port", port()), 2.0),
    "mcp": lambda at: Victim((*ME, "mcp"), 4.0, stdin=True, says=CALL),
}


class Met:
    """A started command, with what it writes read all the time."""

    def __init__(self, victim: Victim, at: Path) -> None:
        """Start it with a home and a folder for temporary files of its own, and a Python that hangs to be examined."""
        for name in ("tmp", "home", "out"):
            (at / name).mkdir(parents=True)
        script(at / "env/bin/python", "trap '' TERM INT HUP; sleep 300 & wait; wait")
        self.at, self.written = at, b""
        env = BARE | {"VIRTUAL_ENV": str(at / "env"), "HOME": str(at / "home"), "TMPDIR": str(at / "tmp")}
        env |= {"MARK": str(at), "TERM": "xterm", "PYTHONPATH": str(Path(local.__file__).parents[3])}
        self.ours = self.theirs = -1
        argv, streams = list(victim.words), {"stdin": subprocess.PIPE if victim.stdin else subprocess.DEVNULL}
        if victim.terminal:
            self.ours, self.theirs = os.openpty()
            argv = [sys.executable, "-S", "-c", OWN_TERMINAL, *argv]
            streams = dict.fromkeys(("stdin", "stdout", "stderr"), self.theirs)
        else:
            streams |= dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        self.before = termios.tcgetattr(self.theirs) if victim.terminal else None
        self.run = subprocess.Popen(argv, env=env, cwd="/", start_new_session=True, **streams)  # type: ignore[call-overload]
        if victim.says:
            self.run.stdin.write(victim.says)
            self.run.stdin.flush()
        sources = [self.ours] if victim.terminal else [f.fileno() for f in (self.run.stdout, self.run.stderr)]
        self.sources, self.reads = sources, True
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        while self.reads and self.sources:
            for source in select.select(self.sources, [], [], 0.02)[0]:
                data = b""
                with contextlib.suppress(OSError):  # EIO: nobody holds the other end of the terminal any more
                    data = os.read(source, 1 << 16)
                self.written += data
                self.sources = self.sources if data else [one for one in self.sources if one != source]

    def hang_up(self) -> None:
        """Close all that is the terminal."""
        self.reads = False
        self.reader.join()
        for number in {self.ours, self.theirs} - {-1}:
            os.close(number)
        self.ours = self.theirs = -1
        self.before = None

    def storm(self, kinds: tuple[signal.Signals, ...], dice: random.Random) -> int:
        """Send signals until it has ended; gives how many."""
        sent, end = 0, time.monotonic() + SOON
        gap = dice.choice((0.0, 0.0, 0.0005, 0.02))
        while self.run.poll() is None and time.monotonic() < end:
            for _ in range(dice.randint(1, 20)):
                for kind in kinds:
                    self.run.send_signal(kind)
                    sent += 1
            time.sleep(gap)
        return sent

    def nothing_left(self) -> None:
        """Hold that no process and no temporary or half-written file stays, and that the terminal is as it was."""
        end = time.monotonic() + SOON
        while (left := left_running(str(self.at))) and time.monotonic() < end:
            time.sleep(0.02)
        clean_up(left)
        assert left == []
        assert os.listdir(self.at / "tmp") == []
        assert list((self.at / "out").rglob("*.part")) == []
        if self.before is not None:
            assert termios.tcgetattr(self.theirs) == self.before

    def close(self) -> None:
        if self.run.poll() is None:
            self.run.kill()
            self.run.wait()
        clean_up(left_running(str(self.at)))
        self.hang_up()
        for stream in (self.run.stdin, self.run.stdout, self.run.stderr):
            if stream:
                stream.close()


@contextlib.contextmanager
def met(name: str, at: Path) -> Iterator[tuple[Victim, Met]]:
    victim = VICTIMS[name](at)
    one = Met(victim, at)
    try:
        yield victim, one
    finally:
        one.close()


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("storm", STORMS)
@pytest.mark.parametrize("name", VICTIMS)
def test_a_storm_ends_it_and_nothing_stays(name: str, storm: str, seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"{name} {storm} {seed}")
    with met(name, tmp_path / "met") as (victim, one):
        moment = dice.uniform(0.0, victim.within)
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.run.wait(moment)
        sent = one.storm(STORMS[storm], dice)
        reported = f"after {moment:.3f} s and {sent} signals: {one.run.poll()} {one.written[-2000:]!r}"
        assert one.run.poll() is not None, reported
        assert one.run.returncode in TOLD | {0, 1, 2, 3, 4, 5}, reported
        assert b"gpudoctor/" not in one.written.partition(b"Traceback")[2], reported
        one.nothing_left()


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", ["tui", "tui of a demo", "check, shown"])
def test_a_terminal_that_has_gone_ends_it(name: str, seed: int, tmp_path: Path) -> None:
    """As when the window is closed, or a terminal multiplexer is ended: all that was the terminal is closed at once."""
    dice = random.Random(f"{name} {seed}")
    with met(name, tmp_path / "met") as (victim, one):
        time.sleep(dice.uniform(0.0, victim.within))
        one.hang_up()
        one.run.wait(SOON)
        one.nothing_left()
