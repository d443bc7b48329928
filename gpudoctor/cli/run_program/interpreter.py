"""Which interpreter and which environment a command line runs in, as far as it can be told without running it."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpudoctor.cli.run_program.spawn import NotRunError, located

PYTHONS = ("python", "pypy")
# Commands that run the command after them as it is.
BEFORE = ("nohup", "setsid", "time", "nice", "ionice", "stdbuf")
HEAD = 4096


class CommandTarget(NamedTuple):
    """Where a command runs.

    Attributes:
        python: the interpreter; None: it is none of Python's, or nobody can tell.
        env: its environment.
    """

    python: str | None
    env: dict[str, str]


def command_of(argv: Sequence[str], env: Mapping[str, str]) -> CommandTarget:
    """The interpreter and the environment of a command line."""
    words, own = list(argv), dict(env)
    while words and os.path.basename(words[0]) in (*BEFORE, "env"):
        words, own = _without_first(words, own)
    if not words:
        return CommandTarget(None, own)
    if os.path.basename(words[0]) == "uv" and words[1:2] == ["run"]:
        return CommandTarget(_of_project(own), own)
    try:
        return CommandTarget(_python(located(words[0], own), own), own)
    except NotRunError:
        return CommandTarget(None, own)


def _without_first(words: list[str], env: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """What `env NAME=VALUE ...` and its like run, and in which environment."""
    sets, words = os.path.basename(words[0]) == "env", words[1:]
    while words and (words[0].startswith("-") or (sets and "=" in words[0])):
        word, words = words[0], words[1:]
        if sets and word in ("-u", "--unset") and words:
            env, words = {k: v for k, v in env.items() if k != words[0]}, words[1:]
        elif sets and word in ("-i", "-", "--ignore-environment"):
            env = {}
        elif sets and not word.startswith("-"):
            name, _, value = word.partition("=")
            env = env | {name: value}
    return words, env


def _of_project(env: Mapping[str, str]) -> str | None:
    """The Python of uv's project: its environment lies beside pyproject.toml."""
    folder = os.getcwd()
    while True:
        path = os.path.join(folder, env.get("UV_PROJECT_ENVIRONMENT", ".venv"), "bin", "python")
        if os.access(path, os.X_OK):
            return path
        if folder == os.path.dirname(folder) or os.path.exists(os.path.join(folder, "pyproject.toml")):
            return None
        folder = os.path.dirname(folder)


def _python(path: str, env: Mapping[str, str]) -> str | None:
    """The interpreter that a file is, or that its first lines name."""
    if os.path.basename(path).startswith(PYTHONS):
        return os.path.abspath(path)
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD).decode("utf-8", "replace")
    except OSError:
        return None
    lines = head.splitlines()
    if not head.startswith("#!") or not lines:
        return None
    words = lines[0][2:].split()
    if lines[0].startswith("#!/bin/sh") and len(lines) > 1 and lines[1].startswith("'''exec'"):
        words = lines[1].split()[1:]  # pip's way around a first line that would be too long
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    if not words or not os.path.basename(words[0].strip('"')).startswith(PYTHONS):
        return None
    try:
        return os.path.abspath(located(words[0].strip('"'), env))
    except NotRunError:
        return None
