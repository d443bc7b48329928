"""Which Python is run: an assistant's word is not enough."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import UsageError
from gpudoctor.cli.mcp_server.environments import allowed
from tests.cli.mcp import Assistant, assistant

SCRIPT = '#!/bin/sh\ntouch {}\nexec {} "$@"\n'


@pytest.fixture
def env(tmp_path: Path) -> Path:
    """A directory that looks like an environment, whose Python leaves a mark where it was run."""
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(SCRIPT.format(tmp_path / "was-run", sys.executable))
    python.chmod(0o755)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return tmp_path / "env"


@pytest.mark.parametrize(
    ("tool", "argument", "more"),
    [
        ("check", "python", {}),
        ("explain", "python", {"text": "CUDA error"}),
        ("setup_plan", "into", {"frameworks": ["jax"]}),
    ],
)
def test_an_environment_of_the_assistant_s_choice_is_not_run(
    shared: Assistant, env: Path, tool: str, argument: str, more: dict[str, Any]
) -> None:
    answer = shared.call(tool, **{argument: str(env)}, **more)
    assert answer.error
    assert answer.text.startswith(f"{env} is not one of the environments that gpudoctor found")
    assert f"`gpudoctor mcp --python {env}`" in answer.text
    assert not (env.parent / "was-run").exists()


def test_one_that_the_user_named_is(env: Path) -> None:
    with assistant("--python", str(env)) as one:
        answer = one.call("check", python=f"{env}/bin/python")
    assert not answer.error
    assert (env.parent / "was-run").exists()


def test_one_in_the_usual_places_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    python = str(tmp_path / ".venv" / "bin" / "python")
    assert allowed(".venv", ()) == allowed(f"{python}3", ()) == python
    (tmp_path / "way").symlink_to(tmp_path / ".venv")
    assert allowed(str(tmp_path / "way"), ()) == python  # the path that was found, not the one that can be changed


def test_a_masked_path_stands_for_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, env: Path
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venvs" / "train"], check=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert allowed("/home/user/venvs/train", ()) == str(tmp_path / "venvs" / "train" / "bin" / "python")
    with pytest.raises(UsageError) as caught:
        allowed(str(env), ())
    assert str(caught.value).startswith("~/env is not one of")
    assert "~/venvs/train/bin/python" in str(caught.value)


def test_one_that_borrows_a_known_python_is_another(env: Path) -> None:
    (env / "bin" / "python").unlink()
    (env / "bin" / "python").symlink_to("/usr/bin/python3")
    with pytest.raises(UsageError, match="is not one of the environments"):
        allowed(str(env), ())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_one_that_another_user_owns_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    monkeypatch.setenv("PWD", str(tmp_path))
    os.chown(tmp_path / ".venv" / "lib", 12345, 12345)
    with pytest.raises(UsageError, match="is not one of the environments"):
        allowed(str(tmp_path / ".venv"), ())


def test_a_named_one_that_is_not_there_is_reported_at_the_start() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "mcp", "--python", "/nowhere"], capture_output=True, text=True, input=""
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "gpudoctor: /nowhere: no such file or directory.\n"
