"""The door outside: under the real root, and under another one, where links stay inside."""

import os
import stat
from pathlib import Path

import pytest

from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.recorded_machine import RecordedMachine


@pytest.fixture
def other(tmp_path: Path) -> Machine:
    """A machine whose file system lies in a folder."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").symlink_to("../usr/lib/os-release")
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "os-release").write_text("ID=other\n")
    (tmp_path / "usr" / "bin").mkdir()
    tool = tmp_path / "usr" / "bin" / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    (tmp_path / "abs").symlink_to("/usr/lib")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "up").symlink_to("../../../../etc/passwd")
    return Machine(root=str(tmp_path), env={"PATH": "/usr/bin"})


def test_links_stay_inside_the_root(other: Machine) -> None:
    assert other.text("/etc/os-release") == "ID=other\n"
    assert other.text("/abs/os-release") == "ID=other\n"
    assert other.real("/abs/os-release") == "/usr/lib/os-release"
    assert not other.exists("/up")
    assert other.link("/abs") == "/usr/lib"
    with pytest.raises(OSError, match="symbolic links"):
        other.text("/round")


def test_commands_run_only_under_the_real_root(other: Machine) -> None:
    assert other.which("tool") == "/usr/bin/tool"
    ended = other.run(["tool"])
    assert (ended.ok, ended.missing) == (False, "commands are not run under another root")


def test_limits_and_missing_files(tmp_path: Path) -> None:
    machine = Machine(env={})
    large = tmp_path / "large"
    large.write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        machine.data(str(large), limit=10)
    assert machine.line(str(tmp_path / "none")) is None
    assert machine.names(str(tmp_path / "none")) == []
    assert machine.listed(str(tmp_path / "none")) is None
    (tmp_path / "empty").mkdir()
    assert machine.listed(str(tmp_path / "empty")) == []
    assert machine.status(str(tmp_path / "none")) is None
    assert machine.space(str(tmp_path / "none")) is None


def test_what_the_running_system_says(tmp_path: Path) -> None:
    machine = Machine()
    assert machine.release() == os.uname().release
    assert machine.architecture() == os.uname().machine
    assert machine.ids()[0] == os.geteuid()
    assert machine.open_errors(["/dev/null", "/dev/none"]) == {"/dev/null": None, "/dev/none": "ENOENT"}
    status = machine.status("/dev/null")
    assert status is not None
    assert (status.major, status.minor) == (1, 3)
    space = machine.space(str(tmp_path))
    assert space is not None
    assert 0 < space.free <= space.size
    assert machine.may_write(str(tmp_path))


def test_a_program_is_found_off_the_path_and_runs_in_the_c_locale() -> None:
    machine = Machine(env={"PATH": "/nowhere", "LC_ALL": "de_DE.UTF-8"})
    assert machine.run(["sh", "-c", "echo $LC_ALL"]).out == "C\n"
    assert machine.run(["no-such-program-here"]).missing == "command not found"


def test_a_node_whose_open_never_returns_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that stops after the first node stands for the open that a wedged driver never answers."""
    monkeypatch.setattr("gpudoctor.machine.OPEN_SECONDS", 3.0)
    script = tmp_path / "workers" / "open_device_nodes.py"
    script.parent.mkdir()
    script.write_text("import sys, time\nprint('[\"/dev/a\", null]', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr("gpudoctor.workers.__file__", str(tmp_path / "workers/__init__.py"))
    found = Machine().open_errors(["/dev/a", "/dev/b"])
    assert found == {"/dev/a": None, "/dev/b": Unknown("open() did not return within 3 s")}


def test_no_step_takes_longer_than_what_is_left() -> None:
    assert Machine(seconds=5).left(10) <= 5
    assert Machine(seconds=100).left(10) == 10
    assert Machine(seconds=0).left(10) == 0.1


def test_a_recorded_machine_answers_like_a_real_one() -> None:
    machine = RecordedMachine(
        {"/usr/lib/os-release": "ID=x\n", "/opt/bin/tool": "#!"},
        links={"/etc/os-release": "../usr/lib/os-release"},
        commands={"tool --version": "1.0\n"},
        errors={"/dev/kfd": "EACCES"},
        env={"PATH": "/opt/bin"},
    )
    assert machine.text("/etc/os-release") == "ID=x\n"
    assert machine.names("/etc") == ["os-release"]
    assert machine.names("/") == ["etc", "opt", "usr"]
    assert machine.which("tool") == "/opt/bin/tool"
    assert machine.run(["tool", "--version"]).out == "1.0\n"
    assert machine.run(["other"]).missing == "command not found"
    assert machine.open_errors(["/dev/kfd", "/dev/none"]) == {"/dev/kfd": "EACCES", "/dev/none": "ENOENT"}
    folder = machine.status("/usr")
    assert folder is not None
    assert folder.is_dir
    assert stat.S_IMODE(folder.mode) == 0o755


def test_the_age_of_a_file_is_that_of_its_inode(tmp_path: Path) -> None:
    there = tmp_path / "nvidia.ko"
    there.write_text("x")
    os.utime(there, (0, 0))  # as packages keep the time at which their files were built
    age = Machine(root=str(tmp_path)).age("/nvidia.ko")
    assert age is not None
    assert 0 <= age < 3600
    assert Machine(root=str(tmp_path)).age("/gone.ko") is None
