"""gpudoctor starts, examines and reports where nothing of Linux's is to be had: no waitid, no fcntl, no /proc."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = str(ROOT / "tests" / "standins" / "other_system.py")
# Why the stand-in's own Linux answers none of the other system's questions: no sysctl of macOS, no PowerShell.
MISSING = {"darwin": "apple.rosetta-python", "win32": "device.no-gpu"}


def run(system: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.environ["PATH"].replace(":", ";") if system == "win32" else os.environ["PATH"]
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run([sys.executable, SCRIPT, system, *arguments], capture_output=True, text=True, env=env)


@pytest.mark.parametrize("system", ["darwin", "win32"])
@pytest.mark.parametrize("arguments", [("check", "--quick", "--json"), ("check", "--json")])
def test_check_ends_with_a_true_report(system: str, arguments: tuple[str, ...]) -> None:
    ended = run(system, *arguments, "--python", sys.executable)
    assert ended.stderr == ""
    report = json.loads(ended.stdout)
    assert report["machine"]["system"] == {"darwin": "Darwin", "win32": "Windows"}[system]
    assert [entry for entry in report["unknown"] if entry["broken"]] == []
    assert MISSING[system] in {entry["check"] for entry in report["unknown"]}
    assert [entry for entry in report["findings"] if entry["status"] != "advice"] == []
    assert report["python"]["path"] == sys.executable
    assert report["python"]["error"] is None


@pytest.mark.parametrize("system", ["darwin", "win32"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--version",), "gpudoctor "),
        (("--help",), "check "),
        (("checks",), "intel.not-driven"),
        (("explain", "apple.rosetta-python"), "Rosetta"),
        (("facts", "--quick", "--python", sys.executable), '"schema": "gpudoctor.facts/1"'),
    ],
)
def test_other_commands(system: str, arguments: tuple[str, ...], message: str) -> None:
    ended = run(system, *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert message in ended.stdout


def test_an_interpreter_of_its_own_is_asked_in_a_child() -> None:
    """The framework-less interpreter under test is another one than ours, so that a child is started."""
    base = os.path.realpath(sys.executable)
    for system in ("darwin", "win32"):
        ended = run(system, "check", "--quick", "--json", "--python", base)
        assert json.loads(ended.stdout)["python"]["error"] is None, ended.stdout
