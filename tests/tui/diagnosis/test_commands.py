"""The file of commands: where it lies, what is written, what happens where it cannot be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gpudoctor.tui.diagnosis.commands import append, kept, one_line, place, short
from gpudoctor.tui.diagnosis.page import PageCommand

REBOOT = PageCommand("sudo reboot", 0, "Restart.", "driver.library-mismatch")

PLACES = [
    ({"XDG_STATE_HOME": "/s", "HOME": "/home/a"}, "/s/gpudoctor/commands.sh"),
    ({"HOME": "/home/a"}, "/home/a/.local/state/gpudoctor/commands.sh"),
    ({"XDG_STATE_HOME": "", "HOME": "/home/a"}, "/home/a/.local/state/gpudoctor/commands.sh"),
    ({"XDG_STATE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/state/gpudoctor/commands.sh"),
    ({}, os.path.expanduser("~/.local/state/gpudoctor/commands.sh")),
]


@pytest.mark.parametrize(("environment", "path"), PLACES)
def test_the_file_lies_where_state_lies(environment: dict[str, str], path: str) -> None:
    assert place(environment) == path


def test_each_command_stands_under_a_comment_with_its_finding() -> None:
    text = kept([REBOOT, REBOOT._replace(text="nvidia-smi")], "host.json", "2026-11-20 08:30")
    assert text == "# driver.library-mismatch (host.json, 2026-11-20 08:30): Restart.\nsudo reboot\nnvidia-smi\n\n"


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n", "\u2028", "\x85", "\x0b", "\x0c"])
def test_a_comment_never_becomes_a_command(newline: str) -> None:
    text = kept([REBOOT._replace(message=f"a{newline}rm -rf /")], f"x{newline}rm -rf ~", "now")
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == ["sudo reboot"]
    assert len(one_line(f"a{newline}b").splitlines()) == 1


def test_the_file_grows_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "gpudoctor" / "commands.sh"
    assert append(str(path), "one\n") is None
    assert append(str(path), "two\n") is None
    assert path.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_where_it_cannot_be_written_the_reason_is_given(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert append(str(tmp_path / "file" / "commands.sh"), "x") is not None
    assert append("/dev/full", "x") == "No space left on device"
    assert append(str(tmp_path / "a\0b" / "c"), "x") is not None
    assert append(str(tmp_path), "x") == "Is a directory"


def test_a_path_is_written_as_people_do() -> None:
    assert short("/home/a/.local/x", "/home/a") == "~/.local/x"
    assert short("/home/ab/x", "/home/a") == "/home/ab/x"
    assert short("/x", "") == "/x"
    assert short("/x", "/") == "/x"
