"""`gpudoctor serve` as a process, and what a client without a browser says to it."""

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.real.browser import free_port
from tests.real.tmux import coverage
from tests.standins import clean_up, left_running

SCRIPT = Path(sys.executable).with_name("gpudoctor")


class Answer(NamedTuple):
    """What the server said."""

    status: int
    text: str
    headers: dict[str, str]


class Served:
    """A server, and the processes of its visitors.

    Attributes:
        process: the server.
        said: what it has written until it listened.
        base: its address, without the token.
        token: in the address that it has printed.
        mark: a variable of its and its visitors' environment.
    """

    def __init__(self, folder: Path, *words: str, cwd: Path | str = "/", port: int = 0) -> None:
        self.port, self.mark = port or free_port(), f"MARK={folder}"
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "MARK": str(folder), **coverage()}
        argv = [str(SCRIPT), "serve", "--port", str(self.port), *words]
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.said = ""
        while not (found := re.search(r"gpudoctor is at (\S+)/\?token=(\S+) \(Ctrl-C stops it\)\n", self.said)):
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
        self.printed, self.token = found.groups()
        self.base = f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The address that lets one in."""
        return f"{self.base}/?token={self.token}"

    def cookie(self) -> str:
        """What the page sends along, as a Cookie header."""
        return answer(self.url).headers["Set-Cookie"].partition(";")[0]

    def visitors(self) -> list[int]:
        """The processes of those who look on."""
        return [pid for pid in left_running(self.mark) if pid != self.process.pid]

    def end(self) -> None:
        """Whatever became of it, leave nothing."""
        self.process.kill()
        self.process.communicate()
        clean_up(self.visitors())


@contextmanager
def serving(folder: Path, *words: str, cwd: Path | str = "/", port: int = 0) -> Iterator[Served]:
    """A server that is ended in the end."""
    made = Served(folder, *words, cwd=cwd, port=port)
    try:
        yield made
    finally:
        made.end()


def answer(url: str, **headers: str) -> Answer:
    """What is answered to a request."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as got:
            return Answer(got.status, got.read().decode(), dict(got.headers))
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read().decode(), dict(error.headers))


def root() -> bool:
    """Whether another user's program can be started."""
    return os.geteuid() == 0
