"""`gpudoctor completion`: Tab in real shells, and that the scripts contain what there is."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor import checks
from gpudoctor.cli import completion
from gpudoctor.cli.completion import SCRIPTS
from tests.cli.conftest import Run

PROMPT = "READY> "
# Takes the terminal, without which a shell waits for one; no fork in a process that may have threads.
TAKE = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
# How a shell starts without anybody's settings, and how it takes a script.
SHELLS = {
    "bash": (("bash", "--norc", "--noprofile", "-i"), "source {}/gpudoctor.bash"),
    "zsh": (("zsh", "-f", "-i"), "fpath=({} $fpath); autoload -Uz compinit && compinit -u -D"),
}
DIRECTORY = Path(completion.__file__).parent / "completions"


class Terminal:
    """A shell in a terminal of its own, in which `gpudoctor` prints its arguments."""

    def __init__(self, shell: str, folder: Path) -> None:
        argv, takes = SHELLS[shell]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "PS1": PROMPT, "COLUMNS": "200"}
        ours, theirs = pty.openpty()
        self.file, self.shown = ours, ""
        self.process = subprocess.Popen(
            (sys.executable, "-c", TAKE, *argv),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
        os.close(theirs)
        self.until(re.escape(PROMPT))
        for line in ('gpudoctor() { echo "<$*>"; }', takes.format(DIRECTORY), "echo taken=$((40 + 2))"):
            self.write(f"{line}\n")
        self.until("taken=42")
        self.until(re.escape(PROMPT))

    def write(self, text: str) -> None:
        """Type."""
        os.write(self.file, text.encode())

    def until(self, pattern: str, seconds: float = 20) -> str:
        """What fits a pattern, as soon as it is shown; what comes after it is kept for the next time."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.shown)):
            assert select.select([self.file], [], [], max(0, end - time.monotonic()))[0], (pattern, self.shown)
            self.shown += os.read(self.file, 1 << 16).decode(errors="replace")
        self.shown = self.shown[found.end() :]
        return found[0]

    def end(self) -> None:
        """End the shell."""
        self.process.kill()
        self.process.wait()
        os.close(self.file)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def terminal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A shell that knows the script."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path_factory.mktemp("home")
    (folder / "train.log").touch()
    started = Terminal(request.param, folder)
    yield started
    started.end()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("che", "check"),
        ("smo", "smoke"),
        ("explain driver.library-mism", "explain driver.library-mismatch"),
        ("explain driver.lib", "explain driver.library-"),
        ("explain train.l", "explain train.log"),
        ("check --only tensorf", "check --only tensorflow"),
        ("check --format juni", "check --format junit"),
        ("check --demo mism", "check --demo mismatch"),
        ("check --quic", "check --quick"),
        ("--demo cpu", "--demo cpu-wheel"),
        ("smoke mni", "smoke mnist"),
        ("setup pytorch --format dock", "setup pytorch --format dockerfile"),
        ("fleet rep", "fleet report"),
        ("fleet run slurm --queue", "fleet run slurm --queue-timeout"),
        ("fleet no", "fleet no"),
        ("help comple", "help completion"),
    ],
)
def test_tab(terminal: Terminal, typed: str, completed: str) -> None:
    terminal.write(f"gpudoctor {typed}\t\n")
    assert terminal.until(r"<[^>]*>").strip("<> ") == completed
    terminal.until(re.escape(PROMPT))


def fish(line: str, folder: Path) -> list[str]:
    """What fish offers for a line; it has a command that answers that."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    code = f"source {DIRECTORY}/gpudoctor.fish; complete -C '{line}'"
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb"}
    ended = subprocess.run(
        ["fish", "--no-config", "-c", code], env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    assert not ended.stderr
    return [offered.partition("\t")[0] for offered in ended.stdout.splitlines()]


def test_fish(tmp_path: Path) -> None:
    (tmp_path / "train.log").touch()
    assert fish("gpudoctor che", tmp_path)[:2] == ["check", "checks"]
    assert "driver.library-mismatch" in fish("gpudoctor explain driver.lib", tmp_path)
    assert "train.log" in fish("gpudoctor explain train", tmp_path)
    assert fish("gpudoctor --demo ", tmp_path) == ["mismatch", "cpu-wheel", "bad-link"]
    assert set(fish("gpudoctor fleet ", tmp_path)) == {"run", "report", "merge"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_script_has_every_check_and_starts_nothing(run: Run, shell: str) -> None:
    ran = run("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    words = set(re.findall(r"[a-z0-9.-]+", ran.out))
    assert set(checks.ids()) <= words
    assert "--limit" not in ran.out
    assert "--patience" not in ran.out


def test_an_unknown_shell(run: Run) -> None:
    assert run("completion", "fsh").sentence == 'Unknown shell "fsh". Did you mean "fish"?'
