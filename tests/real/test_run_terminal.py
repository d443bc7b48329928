"""A program in a real terminal, run by gpudoctor: prompts, progress, Ctrl-C, Ctrl-Z, sizes, curses."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.tmux import Terminal, coverage, needs_tmux
from tests.standins import clean_up, left_running

pytestmark = needs_tmux
RUN = f"{sys.executable} -m gpudoctor run --quick --"
CURSES = """
import curses
def main(screen):
    screen.addstr(5, 10, "press a key")
    screen.addstr(6, 10, "second line")
    screen.refresh()
    key = screen.getkey()
    screen.addstr(7, 10, f"you pressed {key}")
    screen.refresh()
    screen.getkey()
curses.wrapper(main)
print("curses left")
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal of 100 columns with job control."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8", "MARK": str(tmp_path), **coverage()}
    made = Terminal(tmp_path, 100, 30, env)
    made.type("bash --norc --noprofile", "Enter")
    made.type("PS1='% '; clear", "Enter")
    made.until(lambda: made.screen.strip() == "%", "bash's prompt")
    yield made
    made.close()
    time.sleep(0.1)
    clean_up([pid for pid in left_running(f"MARK={tmp_path}") if _name(pid) not in ("tmux: server", "")])


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _script(tmp_path: Path, text: str) -> str:
    (tmp_path / "script.py").write_text(text)
    return f"{RUN} {sys.executable} {tmp_path / 'script.py'}"


def _modes(terminal: Terminal) -> None:
    """The terminal is the shell's again: it echoes, and makes new lines."""
    terminal.type("stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(echo|icanon|isig|opost|onlcr|icrnl)' | xargs", "Enter")
    terminal.shows("icrnl opost onlcr isig icanon echo")


def test_a_program_sees_a_terminal_on_all_its_streams(terminal: Terminal, tmp_path: Path) -> None:
    line = _script(tmp_path, "import os, sys\nprint([os.isatty(n) for n in range(3)], os.get_terminal_size(2))")
    terminal.type(line, "Enter")
    terminal.shows("[True, True, True] os.terminal_size(columns=100, lines=30)")


def test_what_goes_into_a_pipe_is_a_pipe_for_the_program_too(terminal: Terminal, tmp_path: Path) -> None:
    line = _script(tmp_path, "import os, sys\nprint([os.isatty(n) for n in range(3)])")
    terminal.type(f"{line} | cat", "Enter")
    terminal.shows("[True, False, True]")


def test_it_answers_prompts_and_shows_progress(terminal: Terminal, tmp_path: Path) -> None:
    text = (
        "import sys, time\nname = input('name? ')\n"
        "for i in range(3): sys.stderr.write(f'\\r{i}/2 {name}'); sys.stderr.flush(); time.sleep(0.05)\n"
        "print('\\ndone', file=sys.stderr)\n"
    )
    terminal.type(_script(tmp_path, text), "Enter")
    terminal.shows("name?")
    terminal.type("ada", "Enter")
    terminal.shows("done")
    assert "2/2 ada" in terminal.screen
    assert "0/2 ada\r1/2 ada\r2/2 ada" in terminal.raw.decode()


def test_ctrl_c_reaches_it_once_and_nothing_is_said(terminal: Terminal, tmp_path: Path) -> None:
    text = (
        "import signal, sys, time\ngot = []\nsignal.signal(signal.SIGINT, lambda *a: got.append(1))\nprint('ready')\n"
        "while not got: time.sleep(0.01)\ntime.sleep(0.3)\nsys.exit(40 + len(got))\n"
    )
    terminal.type(_script(tmp_path, text) + "; echo left $?", "Enter")
    terminal.shows("ready")
    terminal.type("C-c")
    terminal.shows("left 41")
    assert "gpudoctor:" not in terminal.screen


def test_a_loop_in_the_shell_is_left_by_ctrl_c(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(f"for i in 1 2 3; do {RUN} sh -c 'echo turn $0; sleep 30' $i; done; echo left", "Enter")
    terminal.shows("turn 1")
    terminal.type("C-c")
    terminal.until(lambda: terminal.screen.rstrip().endswith("%"), "the prompt")
    assert "turn 2" not in terminal.screen.replace("do", "")


def test_it_is_stopped_by_ctrl_z_and_goes_on(terminal: Terminal, tmp_path: Path) -> None:
    text = "import time\nprint('ready')\nfor i in range(2000): time.sleep(0.01)\n"
    terminal.type(_script(tmp_path, text), "Enter")
    terminal.shows("ready")
    terminal.type("C-z")
    terminal.shows("Stopped")
    _modes(terminal)
    terminal.type("clear; bg; sleep 0.2; jobs", "Enter")
    terminal.shows("Running")
    terminal.type("clear; fg", "Enter")
    terminal.shows("script.py")
    time.sleep(0.3)
    terminal.type("C-c")
    terminal.type("echo it is $((6 * 7))", "Enter")
    terminal.shows("it is 42")


def test_in_the_background_it_stops_when_it_wants_to_read(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(_script(tmp_path, "print('got', input())") + " &", "Enter")

    def stopped() -> bool:
        terminal.type("jobs", "Enter")
        time.sleep(0.2)
        return "Stopped" in terminal.screen

    terminal.until(stopped, "Stopped")
    terminal.type("clear; printf 'n%s\\n' ow; fg", "Enter")  # what was typed before may still run
    terminal.shows("now")
    terminal.type("words", "Enter")
    terminal.shows("got words")


def test_a_new_size_is_told(terminal: Terminal, tmp_path: Path) -> None:
    text = (
        "import os, signal, time\nsaw = []\n"
        "signal.signal(signal.SIGWINCH, lambda *a: saw.append(os.get_terminal_size(1).columns))\nprint('ready')\n"
        "while 77 not in saw: time.sleep(0.01)\nprint('it is 77 now')\n"
    )
    terminal.type(_script(tmp_path, text), "Enter")
    terminal.shows("ready")
    terminal.call("resize-window", "-x", "77", "-y", "30")
    terminal.shows("it is 77 now")


def test_a_program_with_a_screen_of_its_own_gets_its_keys(terminal: Terminal, tmp_path: Path) -> None:
    terminal.type(_script(tmp_path, CURSES), "Enter")
    terminal.shows("press a key")
    lines = terminal.screen.splitlines()
    assert (lines[5], lines[6]) == (" " * 10 + "press a key", " " * 10 + "second line")
    terminal.type("k")
    terminal.shows("you pressed k")
    terminal.type("q")
    terminal.shows("curses left")
    _modes(terminal)


def test_a_failure_is_explained_under_the_programs_own_words(terminal: Terminal, tmp_path: Path) -> None:
    text = "raise RuntimeError('CUDA error 802: system not yet initialized')"
    terminal.type("clear; " + _script(tmp_path, text) + "; echo left $?", "Enter")
    terminal.shows("left 1", 60)
    whole = terminal.raw.decode()
    assert whole.index("RuntimeError: CUDA error 802") < whole.index("exited with code 1.")
    assert "The NVLink fabric is not ready" in whole
