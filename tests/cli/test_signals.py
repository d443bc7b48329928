"""Ctrl-C, SIGTERM and deadlines in the middle of a run: the right exit code, and nothing left running."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli import BARE, gpudoctor
from tests.probes.environments import script
from tests.standins import clean_up, left_running


@pytest.fixture
def hanging(tmp_path: Path) -> dict[str, str]:
    """An active environment whose Python hangs and ignores SIGTERM, and a mark in the environment of all children."""
    script(tmp_path / "env/bin/python", f"trap '' TERM INT HUP; touch {tmp_path}/started; sleep 300 & wait; wait")
    return BARE | {"VIRTUAL_ENV": str(tmp_path / "env"), "MARK": str(tmp_path)}


def _started(tmp_path: Path) -> None:
    end = time.monotonic() + 20
    while not (tmp_path / "started").exists():
        assert time.monotonic() < end, "the child was never started"
        time.sleep(0.01)
    time.sleep(0.3)  # until the kernel knows whose children these are, which is just after their start


def _nothing_left(tmp_path: Path) -> None:
    end = time.monotonic() + 5
    while (left := left_running(str(tmp_path))) and time.monotonic() < end:
        time.sleep(0.05)
    clean_up(left)
    assert left == []


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)])
@pytest.mark.parametrize("command", ["check", "facts"])
def test_a_signal_ends_the_run_and_its_children(
    tmp_path: Path, hanging: dict[str, str], name: str, code: int, command: str
) -> None:
    argv = [sys.executable, "-m", "gpudoctor", command, "--quick"]
    with subprocess.Popen(
        argv, env=hanging, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        _started(tmp_path)
        begun = time.monotonic()
        run.send_signal(getattr(signal, name))
        out, err = run.communicate(timeout=20)
    assert time.monotonic() - begun < 5
    assert (run.returncode, out, err) == (code, b"", b"")
    _nothing_left(tmp_path)


def test_the_timeout_ends_what_hangs_and_the_report_is_written(tmp_path: Path, hanging: dict[str, str]) -> None:
    begun = time.monotonic()
    ran = gpudoctor("check", "--quick", "--json", "--timeout", "1", env=hanging)
    assert time.monotonic() - begun < 8
    error = json.loads(ran.out)["python"]["error"]
    assert "did not respond" in error
    assert ran.err == ""
    _nothing_left(tmp_path)


def test_a_given_interpreter_that_hangs_is_wrong_usage(tmp_path: Path, hanging: dict[str, str]) -> None:
    path = f"{tmp_path}/env/bin/python"
    ran = gpudoctor("check", "--quick", "--timeout", "1", "--python", path, env={"MARK": str(tmp_path)})
    assert ran.sentence.startswith(f"{path} did not respond within")
    _nothing_left(tmp_path)


def test_signals_that_were_ignored_by_the_parent_do_no_harm(tmp_path: Path) -> None:
    line = f"trap '' INT HUP TERM CHLD; exec {sys.executable} -m gpudoctor check --quick --json"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=BARE, cwd="/", timeout=60)
    assert json.loads(ended.stdout)["summary"]["broken"] == 0
    assert ended.stderr == ""


def test_the_command_line_may_be_called_twice_in_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    from gpudoctor.cli import main

    for _ in range(2):
        assert main(["check", "--quick", "--json"]) in (0, 1, 3)
        assert json.loads(capsys.readouterr().out)["python"]["error"] is None
        assert main(["check", "--nothing"]) == 2
    assert os.getpid()
