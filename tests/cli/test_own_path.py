"""What is typed for gpudoctor where it is not on PATH."""

import sys

import pytest

from gpudoctor.cli.own_path import typeable, with_script
from gpudoctor.report.model import FindingEntry, FixEntry, Report

FIX = FixEntry("Look for it.", ("gpudoctor find-release x --with x.y --install", "python -m pip check"))
ENTRY = FindingEntry(check="a.b", status="warn", subject="s", title="T", message="M.", cause="C.", fixes=(FIX,))


@pytest.mark.parametrize(
    ("started", "folders", "typed"),
    [
        ("/opt/my tool/gpudoctor", "/usr/bin", "'/opt/my tool/gpudoctor' find-release"),
        ("gpudoctor", "/usr/bin", "gpudoctor find-release"),
        ("/opt/other/__main__.py", "/usr/bin", "gpudoctor find-release"),
    ],
)
def test_a_command_of_ours_is_one_that_a_shell_finds(
    monkeypatch: pytest.MonkeyPatch, started: str, folders: str, typed: str
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setenv("PATH", folders)
    first, second = typeable(Report(findings=(ENTRY,))).findings[0].fixes[0].commands
    assert first.startswith(typed)
    assert second == "python -m pip check"


@pytest.mark.parametrize(
    ("argv", "typed"),
    [
        (["torchrun", "--nproc_per_node=4", "my train.py", "--lr", "1"], "torchrun -n 1 'my train.py' --lr 1"),
        (["python", "-m", "train"], "torchrun -n 1 YOUR_SCRIPT.py"),
    ],
)
def test_the_script_that_was_run_stands_in_the_commands(argv: list[str], typed: str) -> None:
    entry = FindingEntry(
        check="a.b", status="warn", subject="s", title="T", message="M.", cause="C.",
        fixes=(FixEntry("Start one.", ("torchrun -n 1 YOUR_SCRIPT.py",)),),
    )  # fmt: skip
    assert with_script(Report(findings=(entry,)), argv).findings[0].fixes[0].commands == (typed,)
