"""Which interpreter and environment a command line runs in, told without running it."""

import os
import sys
from pathlib import Path

import pytest

from gpudoctor.cli.run_program.interpreter import command_of

PATH = "/usr/bin:/bin"
SHEBANGS = {
    "plain": "#!{python}\nimport x\n",
    "by-env": "#!/usr/bin/env python3\n",
    "by-env-split": "#!/usr/bin/env -S python3 -u\n",
    "long": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport x\n",
    "shell": "#!/bin/sh\npython3 train.py\n",
    "text": "python3 train.py\n",
    "binary": "\x7fELF\x00",
    "empty": "",
    "odd": "#!\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a Python of its own and scripts of every kind, which is first on PATH."""
    for name, text in SHEBANGS.items():
        (tmp_path / name).write_text(text.format(python=tmp_path / "python3"))
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python3").symlink_to(sys.executable)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "python"),
    [
        (["python3", "train.py"], True),
        (["./python3", "-m", "x"], True),
        (["plain"], True),
        (["by-env"], True),
        (["by-env-split"], True),
        (["long", "--nproc-per-node=2"], True),
        (["env", "A=1", "python3"], True),
        (["env", "-u", "A", "B=2", "plain"], True),
        (["nohup", "python3"], True),
        (["nice", "-5", "env", "A=1", "python3"], True),
        (["shell"], False),
        (["text"], False),
        (["binary"], False),
        (["empty"], False),
        (["odd"], False),
        (["no-such-command"], False),
        (["env"], False),
        (["uv", "run", "train.py"], False),
    ],
)
def test_the_interpreter(folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], python: bool) -> None:
    monkeypatch.chdir(folder)
    found = command_of(words, {"PATH": f"{folder}:{PATH}"})
    assert found.python == (str(folder / "python3") if python else None)


def test_the_environment() -> None:
    env = {"PATH": PATH, "A": "1", "B": "2"}
    assert command_of(["true"], env).env == env
    assert command_of(["env", "-u", "A", "CUDA_VISIBLE_DEVICES=", "true"], env).env == {
        "PATH": PATH, "B": "2", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    assert command_of(["env", "-i", "A=9", "true"], env).env == {"A": "9"}
    assert env == {"PATH": PATH, "A": "1", "B": "2"}


def test_uv_takes_the_projects_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").touch()
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to(sys.executable)
    (folder / "src/deep").mkdir(parents=True)
    monkeypatch.chdir(folder / "src/deep")
    assert command_of(["uv", "run", "train.py"], {"PATH": PATH}).python == str(folder / ".venv/bin/python")
    assert command_of(["uv", "pip", "list"], {"PATH": PATH}).python is None
    elsewhere = {"PATH": PATH, "UV_PROJECT_ENVIRONMENT": "/no/such"}
    assert command_of(["uv", "run", "train.py"], elsewhere).python is None
    assert os.getcwd() == str(folder / "src/deep")
