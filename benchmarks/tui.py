"""Measures the application in a pseudo terminal: its first paint, its answers to keys, its memory; it never fails.

    python benchmarks/tui.py [--rounds 7] [--keys 20] [--json]

Needs gcc for the stand-in of a driver that hangs. Every figure says what it was measured on.
"""

import argparse
import fcntl
import json
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ROWS, COLUMNS = 40, 120
LIMIT = 30.0  # seconds after which what is waited for counts as never coming
# Keys, and what the screen shows when each has been answered: another place, drawn whole.
PLACES = ((b"5", b"Compare with"), (b"1", b"passed"))
PAINTED = b"1 Diagnosis"
GOALS = {"first paint": 1.0, "key": 0.050, "memory": 120.0}


class Scene(NamedTuple):
    """One way in which the application runs.

    Attributes:
        name: for the table.
        argv: the command line.
        env: the environment.
    """

    name: str
    argv: list[str]
    env: dict[str, str]


class Window:
    """A program in a pseudo terminal."""

    def __init__(self, scene: Scene) -> None:
        self.begun = time.perf_counter()
        self.seen = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(scene.argv[0], scene.argv, scene.env)  # noqa: S606 - no shell is wanted
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def until(self, text: bytes) -> float:
        """Read until a text comes; gives the time at which it came.

        Raises:
            TimeoutError: it never came.
        """
        seen, end = b"", time.perf_counter() + LIMIT
        while text not in seen:
            left = end - time.perf_counter()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                raise TimeoutError(f"{text!r} never came: {seen[-2000:]!r}")
            seen += os.read(self.terminal, 1 << 16)
        return time.perf_counter()

    def quiet(self, seconds: float) -> None:
        """Read what comes, for some time."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                os.read(self.terminal, 1 << 16)

    def answer(self, key: bytes, text: bytes) -> float:
        """Seconds from a key to the text that answers it."""
        begun = time.perf_counter()
        os.write(self.terminal, key)
        return self.until(text) - begun

    def memory(self) -> float:
        """MiB: the largest resident set of the program itself so far."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

    def close(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGTERM)
        with suppress(OSError):  # gone
            self.quiet(0.1)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@contextmanager
def opened(scene: Scene) -> Iterator[Window]:
    """A window, closed in the end."""
    window = Window(scene)
    try:
        yield window
    finally:
        window.close()


def scenes(folder: Path) -> list[Scene]:
    """A recorded machine, this one while its probes run, and one whose NVML does not answer."""
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TEXTUAL_DRIVER")}
    plain |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
    (folder / "lib").mkdir()
    source = ROOT / "tests" / "standins" / "nvml.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "lib" / "libnvidia-ml.so.1", source], check=True)
    hanging = plain | {"LD_LIBRARY_PATH": str(folder / "lib"), "STANDIN_NVML_TROUBLE": "hang"}
    python, host = sys.executable, str(ROOT / "tests" / "standins" / "host.py")
    bare = "from textual.app import App\nfrom textual.widgets import Static\nclass A(App):\n"
    bare += "    def compose(self):\n        yield Static('1 Diagnosis')\nA().run()"
    return [
        Scene("nothing but textual", [python, "-c", bare], plain),
        Scene("a recorded machine", [python, "-m", "gpudoctor", "--demo", "bad-link"], plain),
        Scene("this machine", [python, "-m", "gpudoctor"], plain),
        Scene("a driver that hangs", [python, host, "tui"], hanging),
    ]


class Round(NamedTuple):
    """What one run gave: seconds to the first paint, seconds of each answer, MiB."""

    paint: float
    keys: list[float]
    memory: float


def measure(scene: Scene, keys: int) -> Round:
    """Open it, and press keys from the first paint on: while probes run, where there are any."""
    with opened(scene) as window:
        paint = window.until(PAINTED) - window.begun
        if scene.name == "nothing but textual":
            window.quiet(0.3)
            return Round(paint, [], window.memory())
        for key, text in PLACES:  # the first visit loads a place, and is not counted
            window.answer(key, text)
        answers = []
        for number in range(keys):
            window.quiet(0.05)
            answers.append(window.answer(*PLACES[number % 2]))
        for key in (b"2", b"3", b"4"):
            window.answer(key, b"1 Diagnosis")
            window.quiet(1.0)
        return Round(paint, answers, window.memory())


def main() -> None:
    """Measure in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = scenes(Path(folder))
        taken: dict[str, list[Round]] = {scene.name: [] for scene in found}
        for number in range(given.rounds + 1):  # the first warms the file cache and writes bytecode
            for scene in found:
                one = measure(scene, given.keys)
                if number:
                    taken[scene.name].append(one)
    rows = [row(name, rounds) for name, rounds in taken.items()]
    if given.json:
        out(json.dumps({"rounds": given.rounds, "cores": len(os.sched_getaffinity(0)), "goals": GOALS, "rows": rows}))
        return
    out(f"{COLUMNS}x{ROWS} cells, {len(os.sched_getaffinity(0))} cores, {given.rounds} rounds in turn")
    out(f"{'':<22}{'first paint s':>24}{'key to a whole place ms':>34}{'MiB':>8}")
    out(f"{'':<22}{'least  median    most':>24}{'median    95 %    most   (n)':>34}{'most':>8}")
    for one in rows:
        paint = "  ".join(f"{value:6.2f}" for value in one["paint"])
        keys = "  ".join(f"{1000 * value:6.1f}" for value in one["keys"]) if one["keys"] else ""
        out(f"{one['name']:<22}{paint:>24}{keys:>28}{'(' + str(one['presses']) + ')':>6}{one['memory']:8.0f}")
    out(f"wanted: {GOALS['first paint']} s, {1000 * GOALS['key']:.0f} ms, {GOALS['memory']:.0f} MiB")


def row(name: str, rounds: list[Round]) -> dict[str, object]:
    """The figures of one scene."""
    paints, keys = sorted(one.paint for one in rounds), sorted(key for one in rounds for key in one.keys)
    late = keys[min(len(keys) - 1, int(0.95 * len(keys)))] if keys else None
    return {
        "name": name,
        "paint": [paints[0], statistics.median(paints), paints[-1]],
        "keys": [statistics.median(keys), late, keys[-1]] if keys else [],
        "presses": len(keys),
        "memory": max(one.memory for one in rounds),
    }


def out(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
