"""The script that an interpreter runs to say what it is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.workers import interpreter

SCRIPT = os.path.abspath(interpreter.__file__)
OTHERS = [f"python3.{minor}" for minor in range(8, 15)]


def ask(python: str, **env: str) -> dict[str, object]:
    whole = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **env}
    out = subprocess.run([python, SCRIPT], env=whole, capture_output=True, text=True, check=True, timeout=30).stdout
    line = next(line for line in out.splitlines() if line.startswith(interpreter.MARK))
    answer: dict[str, object] = json.loads(line[len(interpreter.MARK) :])
    return answer


def found(name: str) -> list[str]:
    """The interpreters of this name that run here: PATH's, and pyenv's, whose shims refuse what is not selected."""
    version = name.removeprefix("python")
    pyenv = sorted(Path(os.environ.get("PYENV_ROOT", "/root/.pyenv"), "versions").glob(f"{version}.*/bin/python"))
    on_path = shutil.which(name)
    return [str(path) for path in pyenv] or ([on_path] if on_path and "/shims/" not in on_path else [])


@pytest.mark.parametrize("name", OTHERS)
def test_every_python_from_3_8_answers(name: str) -> None:
    pythons = found(name)
    if not pythons:
        pytest.skip(f"{name} is not on this machine")
    said = ask(pythons[0])
    assert str(said["version"]).startswith(name.removeprefix("python") + ".")
    assert said["implementation"] == "cpython"
    assert said["bits"] == 64
    assert os.path.dirname(SCRIPT) not in said["sys_path"]  # type: ignore[operator]


def test_an_older_python_tells_its_version_and_no_more() -> None:
    older = [python for name in ("python2.7", "python3.6", "python3.7") for python in found(name)]
    if not older:
        pytest.skip("no Python below 3.8 is on this machine")
    for python in older:
        assert list(ask(python)) == ["version"]


def test_modules_on_pythonpath_do_not_stand_in_for_the_library(tmp_path: Path) -> None:
    for name in ("json", "sysconfig", "time"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)\n")
    said = ask(sys.executable, PYTHONPATH=str(tmp_path))
    assert said["sys_path"][0] == str(tmp_path)  # type: ignore[index]


def test_what_start_up_files_print_does_not_spoil_the_answer(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('welcome', end='')\n")
    assert ask(sys.executable, PYTHONPATH=str(tmp_path))["prefix"] == sys.prefix


@pytest.mark.parametrize(
    "value", [{"a": [1, 2.5, None, True, ()], 'é\ud800\n"': "\\\x7f", "b": {}}, [], "x", 0, 1e-07, False]
)
def test_its_json_is_what_json_writes(value: object) -> None:
    assert interpreter._json(value) == json.dumps(value)


def test_it_imports_no_regular_expressions() -> None:
    argv = [sys.executable, "-S", "-X", "importtime", SCRIPT]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, cwd="/")
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "sysconfig" in imported
    assert not imported & {"re", "json", "enum"}
