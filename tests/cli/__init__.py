"""Runs the command line as its users do: in a process of its own, or here where only the answer matters."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from gpudoctor.cli import main

BARE = {"PATH": "/usr/bin:/bin", "HOME": "/proc/none", "LANG": "C.UTF-8"}


class Ran(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one sentence of wrong usage; fails where there is more, or another exit code than 2."""
        assert self.code == 2, self
        assert self.out == "", self
        assert self.err.count("\n") == 1, self
        assert self.err.startswith("gpudoctor: "), self
        assert self.err.endswith((".\n", "?\n")), self
        return self.err.removeprefix("gpudoctor: ").strip()


def gpudoctor(
    *arguments: str, cwd: str | Path = "/", env: dict[str, str] | None = None, stdin: str | None = None
) -> Ran:
    """`python -m gpudoctor` in a process of its own, with a bare environment and what is given besides."""
    whole = BARE | {k: v for k, v in os.environ.items() if k.startswith("COV")} | (env or {})
    argv = [sys.executable, "-m", "gpudoctor", *arguments]
    ended = subprocess.run(argv, capture_output=True, text=True, cwd=cwd, env=whole, input=stdin or "", timeout=60)
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def shell(line: str, cwd: str | Path = "/", **env: str) -> Ran:
    """A shell line in which "gpudoctor" is this gpudoctor."""
    script = f'gpudoctor() {{ {sys.executable} -m gpudoctor "$@"; }}\n{line}'
    whole = BARE | {k: v for k, v in os.environ.items() if k.startswith("COV")} | env
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd, env=whole, timeout=60)
    return Ran(ended.returncode, ended.stdout, ended.stderr)


__all__ = ["BARE", "Ran", "gpudoctor", "main", "shell"]
