"""A real terminal without a window: tmux, on a socket of its own, whose screen can be read."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

needs_tmux = [
    pytest.mark.terminal,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux to open a terminal with"),
]


class Terminal:
    """One window with a shell in it.

    Args:
        folder: for its socket, and for everything that programs in it write to the terminal.
        columns, rows: its size.
        env: the whole environment of the shell.
    """

    def __init__(self, folder: Path, columns: int, rows: int, env: dict[str, str]) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        self._raw = folder / "raw"
        self._env = env | {"TERM": "xterm-256color"}
        self.call("new-session", "-d", "-x", str(columns), "-y", str(rows), "sh")
        self.call("pipe-pane", f"cat > {shlex.quote(str(self._raw))}")
        self.until(lambda: self.screen.strip() in ("$", "#"), "the shell's prompt")

    def call(self, *words: str) -> str:
        """A command of tmux's."""
        return subprocess.run([*self._tmux, *words], env=self._env, capture_output=True, text=True, check=True).stdout

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names; other words are typed."""
        self.call("send-keys", *keys)

    @property
    def screen(self) -> str:
        """What is seen."""
        return self.call("capture-pane", "-p")

    @property
    def raw(self) -> bytes:
        """Everything that was written to it."""
        return self._raw.read_bytes() if self._raw.exists() else b""

    def ask(self, name: str) -> str:
        """One of tmux's variables, such as alternate_on."""
        return self.call("display-message", "-p", f"#{{{name}}}").strip()

    def until(self, condition: Callable[[], object], what: str, seconds: float = 20.0) -> None:
        """Wait for something.

        Raises:
            AssertionError: it did not come; with the screen.
        """
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"{what} never came:\n{self.screen}"
            time.sleep(0.05)

    def shows(self, text: str, seconds: float = 20.0) -> None:
        """Wait until the screen shows a text."""
        self.until(lambda: text in self.screen, text, seconds)

    def close(self) -> None:
        """Close the window, as somebody does who has had enough: what runs in it gets SIGHUP."""
        subprocess.run([*self._tmux, "kill-server"], env=self._env, capture_output=True, check=False)


def coverage() -> dict[str, str]:
    """The variables by which a process measures what it covers."""
    return {name: value for name, value in os.environ.items() if name.startswith("COV")}
