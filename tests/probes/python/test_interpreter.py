"""Asking interpreters, whole and broken ones."""

import os
import sys
from pathlib import Path

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.machine import Machine
from gpudoctor.probes.python import interpreter
from gpudoctor.probes.python.interpreter import Said, ask, ask_early, child_environment, is_own
from gpudoctor.recorded_machine import RecordedMachine
from tests.probes.environments import machine, script, venv

PATH = "/opt/env/bin/python"


def test_a_child_and_this_process_say_the_same(tmp_path: Path) -> None:
    ours = Machine()
    if not is_own(ours, sys.executable):
        pytest.skip("these tests run with flags that the user's python would not have")
    inside = ask(ours, sys.executable)
    link = tmp_path / "python"
    link.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    link.chmod(0o755)
    child = ask(ours, str(link))
    assert isinstance(inside, Said)
    assert isinstance(child, Said)
    assert inside.startup is None
    assert child.startup is not None
    different = ("spent", "startup", "sys_path")
    for name in Said.__struct_fields__:
        assert name in different or getattr(inside, name) == getattr(child, name), name
    assert set(child.sys_path) <= set(inside.sys_path)


def test_another_environment_is_not_our_own() -> None:
    assert not is_own(Machine(env={**os.environ, "PYTHONPATH": "/elsewhere"}), sys.executable)
    assert not is_own(Machine(root="/proc"), sys.executable)
    assert not is_own(Machine(), "/usr/bin/env")


def test_variables_that_run_code_are_not_passed_on() -> None:
    env = child_environment(machine(PYTHONSTARTUP="/x.py", PYTHONINSPECT="1", PYTHONPATH="/kept", PWD="/code"))
    assert "PYTHONSTARTUP" not in env
    assert "PYTHONINSPECT" not in env
    assert env["PYTHONPATH"] == "/kept"
    assert env["PYTHONDONTWRITEBYTECODE"] == "1"
    assert env["PYENV_DIR"] == "/code"


def test_pythonpath_and_user_site_take_part(tmp_path: Path) -> None:
    venv(tmp_path / "env")
    (tmp_path / "mine").mkdir()
    said = ask(machine(PYTHONPATH=str(tmp_path / "mine")), str(tmp_path / "env/bin/python"))
    assert isinstance(said, Said)
    assert said.sys_path[0] == str(tmp_path / "mine")
    assert said.user_site is None
    assert said.prefix == str(tmp_path / "env")
    assert said.base_prefix == sys.base_prefix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo hello", "does not respond like a Python interpreter: hello."),
        ("true", "does not respond like a Python interpreter, without output."),
        ("kill -SEGV $$", "was killed by SIGSEGV at startup."),
        ("echo 'Fatal: no module encodings' >&2; exit 1", "exited with code 1: Fatal: no module encodings."),
        ("exit 3", "exited with code 3, without output."),
        ('echo \'gpudoctor-interpreter {"version": "3.1\'', "does not respond like"),
        ('echo \'gpudoctor-interpreter {"version": "x.y"}\'', "does not respond like"),
        ('echo \'gpudoctor-interpreter {"version": "3.9.1"}\'', "does not respond like"),
        ('echo \'gpudoctor-interpreter {"version": "2.7.18"}\'', "is Python 2.7.18; gpudoctor supports checking"),
    ],
)
def test_a_broken_interpreter_gives_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = script(tmp_path / "python", text)
    answer = ask(machine(), path)
    assert isinstance(answer, str)
    assert answer.startswith(path)
    assert message in answer


def test_a_hanging_interpreter_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "SECONDS", 0.3)
    path = script(tmp_path / "python", "exec sleep 60")
    assert ask(machine(), path) == f"{path} did not respond within 0.3 seconds."


def test_an_interpreter_that_cannot_be_started_says_why() -> None:
    missing = RecordedMachine(commands={"python": ChildResult(argv=(PATH,), missing="No such file or directory")})
    assert ask(missing, PATH) == f"{PATH} cannot be started: No such file or directory."
    assert ask(Machine(root="/proc"), PATH) == f"{PATH} cannot be started: commands are not run under another root."


def test_an_answer_asked_for_early_is_the_one_that_is_given_once(tmp_path: Path) -> None:
    ours, log = Machine(), tmp_path / "log"
    path = script(tmp_path / "bin/python", f'echo asked >> {log}\nexec {sys.executable} "$@"')
    ask_early(ours, [(path, ""), (path, ""), (sys.executable, "")])
    assert list(ours.early) == [path]  # our own interpreter needs no child
    assert isinstance(ask(ours, path), Said)
    assert log.read_text() == "asked\n"
    assert not ours.early
    assert isinstance(ask(ours, path), Said)
    assert log.read_text() == "asked\nasked\n"


def test_nothing_is_asked_early_under_another_root() -> None:
    elsewhere = Machine(root="/proc")
    ask_early(elsewhere, [(PATH, "")])
    assert not elsewhere.early
