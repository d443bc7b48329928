"""The application in a real terminal: opened, typed into, resized, left in every way; nothing stays."""

import base64
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.probes.environments import script
from tests.real.tmux import Terminal, coverage, needs_tmux
from tests.standins import clean_up, left_running

pytestmark = needs_tmux
GPUDOCTOR = f"{sys.executable} -m gpudoctor"
OPENED = "1 Diagnosis"


@pytest.fixture
def hanging(tmp_path: Path) -> dict[str, str]:
    """An active environment whose Python hangs and ignores all signals, and a mark that all children inherit."""
    script(tmp_path / "env/bin/python", f"trap '' TERM INT HUP; touch {tmp_path}/started; sleep 300 & wait; wait")
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "VIRTUAL_ENV": str(tmp_path / "env"),
        "MARK": str(tmp_path),
        **coverage(),
    }


@pytest.fixture
def terminal(tmp_path: Path, hanging: dict[str, str]) -> Iterator[Terminal]:
    """A terminal of 100 columns."""
    made = Terminal(tmp_path, 100, 30, hanging)
    yield made
    made.close()
    clean_up(_ours(tmp_path))


def _ours(tmp_path: Path) -> list[int]:
    """Processes of gpudoctor's and their children, which all inherit the mark; the shell and tmux have it too."""
    return [pid for pid in left_running(f"MARK={tmp_path}") if _name(pid) not in ("sh", "tmux: server", "cat", "")]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _session(pid: int) -> int | None:
    """None where the process has ended since it was listed, as those that ask for versions do."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _nothing_left(tmp_path: Path) -> None:
    end = time.monotonic() + 10
    while (left := _ours(tmp_path)) and time.monotonic() < end:
        time.sleep(0.05)
    assert [(pid, _name(pid)) for pid in left] == []


def _open(terminal: Terminal, words: str = "") -> None:
    terminal.type(f"clear; {GPUDOCTOR} {words}; echo left $?", "Enter")
    terminal.shows(OPENED)


def _left(terminal: Terminal, code: int) -> None:
    """The shell has its terminal back as it was: screen, cursor, mouse and echo."""
    terminal.shows(f"left {code}")
    assert [terminal.ask(name) for name in ("alternate_on", "mouse_any_flag", "cursor_flag")] == ["0", "0", "1"]
    terminal.type("echo it is $((6 * 7))", "Enter")
    terminal.shows("it is 42")


def test_it_opens_without_a_word_answers_keys_and_is_left_by_q(terminal: Terminal, tmp_path: Path) -> None:
    _open(terminal)
    terminal.shows("this machine")
    terminal.type("4")
    terminal.type("1")
    terminal.type("q")
    _left(terminal, 0)
    _nothing_left(tmp_path)


def test_a_demo_opens_and_a_command_is_copied_by_a_key(terminal: Terminal) -> None:
    _open(terminal, "--demo mismatch")
    terminal.shows("sudo reboot")
    terminal.type("c")
    terminal.until(lambda: b"\x1b]52;" in terminal.raw, "the clipboard's escape sequence")
    found = re.search(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)", terminal.raw)
    assert found is not None
    assert base64.b64decode(found[1]).decode() == "sudo reboot"
    terminal.type("q")
    _left(terminal, 0)


def test_it_follows_the_terminal_as_that_is_resized(terminal: Terminal) -> None:
    _open(terminal, "--demo cpu-wheel")
    for columns, rows in ((200, 60), (80, 24), (40, 10), (120, 40)):
        terminal.call("resize-window", "-x", str(columns), "-y", str(rows))
        terminal.until(partial(_footer_in, terminal, rows), f"a footer in row {rows}")
    terminal.type("q")
    _left(terminal, 0)


def _footer_in(terminal: Terminal, row: int) -> bool:
    rows = terminal.screen.split("\n")
    return len(rows) >= row and "^p Palette" in rows[row - 1]


@pytest.mark.parametrize("key", ["q", "C-c", "C-q"])
def test_a_key_leaves_it_and_its_children_in_the_middle_of_an_examination(
    terminal: Terminal, tmp_path: Path, key: str
) -> None:
    _open(terminal)
    terminal.until((tmp_path / "started").exists, "the child that hangs")
    terminal.type(key)
    _left(terminal, 0)
    _nothing_left(tmp_path)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_gives_the_terminal_back(terminal: Terminal, tmp_path: Path, name: str, code: int) -> None:
    _open(terminal)
    terminal.until((tmp_path / "started").exists, "the child that hangs")
    pane = int(terminal.ask("pane_pid"))
    (pid,) = [pid for pid in _ours(tmp_path) if _session(pid) == pane]
    os.kill(pid, getattr(signal, name))
    _left(terminal, code)
    _nothing_left(tmp_path)


def test_a_terminal_that_is_closed_takes_everything_with_it(terminal: Terminal, tmp_path: Path) -> None:
    _open(terminal)
    terminal.until((tmp_path / "started").exists, "the child that hangs")
    terminal.close()
    _nothing_left(tmp_path)


def test_a_terminal_that_is_closed_ends_it_under_nohup_too(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(f"trap '' HUP; {GPUDOCTOR} --demo mismatch", "Enter")
    terminal.shows(OPENED)
    terminal.close()
    _nothing_left(tmp_path)


def test_it_is_suspended_and_goes_on(terminal: Terminal) -> None:
    terminal.type("exec bash --norc", "Enter")
    terminal.type(f"{GPUDOCTOR} --demo mismatch; echo left $?", "Enter")
    terminal.shows(OPENED)
    terminal.type("C-z")
    terminal.shows("Stopped")
    assert terminal.ask("alternate_on") == "0"
    terminal.type("fg", "Enter")
    terminal.shows(OPENED)
    terminal.type("q")
    _left(terminal, 147)  # of the suspended job; fg goes on with nothing but that


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("TERM=dumb {}", "The application cannot run on this terminal (TERM=dumb)."),
        ("TERM=dumb {} tui --demo mismatch", "The application cannot run on this terminal (TERM=dumb)."),
        ("{} --demo mismatch | cat", 'Demo "mismatch": this is a recorded machine, not yours.'),
        ("{} tui --demo mismatch </dev/null", "The application needs a terminal."),
        ("{} --facts /proc/none", "The facts file /proc/none cannot be read: No such file or directory."),
        ("{} --root /proc/none", "--root /proc/none is not a directory."),
    ],
)
def test_what_cannot_be_opened_is_said_in_a_sentence_on_the_shells_screen(
    terminal: Terminal, line: str, sentence: str
) -> None:
    terminal.type(f"clear; {line.format(GPUDOCTOR)}; echo left $?", "Enter")
    terminal.until(lambda: re.search(r"left \d", terminal.screen), "the exit code")
    assert sentence in "".join(row.ljust(100) for row in terminal.screen.split("\n"))  # it may be longer than a row
    assert b"\x1b[?1049h" not in terminal.raw
