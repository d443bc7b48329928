"""Closed, full and broken streams, odd environments, and folders full of traps: one sentence at most, no traceback."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import BARE, gpudoctor, shell
from tests.cli.conftest import Run

# What a machine's own state may make of a run.
ANY = (0, 1, 3)
EVERY = ["check --quick", "check --quick --json", "facts --quick", "checks", "--help", "--version", "facts --schema"]


@pytest.mark.parametrize("line", EVERY)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told(line: str, unbuffered: str) -> None:
    ran = shell(f"gpudoctor {line} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    assert ran.sentence == "Standard output: No space left on device."


@pytest.mark.parametrize("line", [*EVERY, "explain driver.not-loaded"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away(line: str, unbuffered: str) -> None:
    ran = shell(f'gpudoctor {line} | head -c 1 > /dev/null; echo "${{PIPESTATUS[0]}}"', PYTHONUNBUFFERED=unbuffered)
    assert ran.err == ""
    assert int(ran.out) in (*ANY, 141)
    ran = shell(f'gpudoctor {line} | true; echo "${{PIPESTATUS[0]}}"', PYTHONUNBUFFERED=unbuffered)
    assert (int(ran.out) in (*ANY, 141), ran.err) == (True, "")


def test_closed_streams() -> None:
    reported = "Standard output is closed."
    assert shell("gpudoctor check --quick >&-").sentence == reported
    assert shell("gpudoctor --version >&-").sentence == reported
    assert shell("gpudoctor check --facts - <&-").sentence == "Standard input is closed: no facts to read."
    json.loads(shell("gpudoctor check --quick --json <&-").out)
    json.loads(shell("gpudoctor check --quick --json 2>&-").out)
    silent = shell("gpudoctor check --nothing 2>&-")
    assert (silent.code, silent.out) == (2, "")
    assert shell("gpudoctor check --nothing 2>/dev/full").code == 2


def test_facts_go_to_a_file_where_standard_output_is_closed(tmp_path: Path) -> None:
    ran = shell("gpudoctor facts --quick -o facts.json >&-", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert json.loads((tmp_path / "facts.json").read_text())["schema"] == "gpudoctor.facts/1"


@pytest.mark.parametrize("home", [None, "", "/proc/none", "/proc", "relative", "/tmp/\udcff"])
def test_no_home_and_odd_ones(home: str | None) -> None:
    line = "unset HOME; " if home is None else ""
    env = {} if home is None else {"HOME": home}
    for command in ("check --quick --json", "facts --quick", "facts --quick --no-mask"):
        ran = shell(f"{line}gpudoctor {command}", **env)
        assert (ran.code in ANY, ran.err) == (True, ""), ran
        json.loads(ran.out)


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    ran = shell("rmdir ../gone; gpudoctor check --quick --json", cwd=tmp_path / "gone")
    assert ran.err == ""
    assert json.loads(ran.out)["summary"]["broken"] == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_that_the_output_cannot_hold(tmp_path: Path, encoding: str) -> None:
    folder = tmp_path / "日本é\U0001f600"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    env = {"LC_ALL": "C", "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    script = f"{sys.executable} -m gpudoctor check --quick --python '{folder}'"
    for extra in ("", " --json"):
        ended = subprocess.run(["bash", "-c", script + extra], capture_output=True, env=BARE | env, cwd="/", timeout=60)
        assert ended.stderr == b""
        assert ended.returncode in ANY
        text = ended.stdout.decode(encoding)
    assert json.loads(text)["python"]["path"] == f"{folder}/bin/python"


@pytest.mark.skipif(sys.platform != "linux", reason="file names of bytes are Linux's")
def test_a_path_that_is_no_utf_8_becomes_text_in_the_report(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    (Path(os.fsdecode(folder)) / "python3").symlink_to(sys.executable)
    ran = gpudoctor("check", "--quick", "--json", "--python", os.fsdecode(folder) + "/python3")
    assert ran.err == ""
    assert json.loads(ran.out)["python"]["path"] == f"{tmp_path}/\\xff/python3"


TRAPS = ("argparse", "difflib", "json", "msgspec", "packaging", "re", "rich", "signal", "subprocess", "torch", "typing")


def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py was imported')\n")
    for command in ("check", "check --quick --json", "checks", "facts", "explain driver.not-loaded", "check --nothing"):
        ran = gpudoctor(*command.split(), cwd=tmp_path)
        assert "was imported" not in ran.err + ran.out
        assert ran.code in ((2,) if "nothing" in command else ANY), ran
    scripts = Path(sys.executable).parent / "gpudoctor"
    if scripts.exists():
        ended = subprocess.run([scripts, "check", "--quick"], capture_output=True, text=True, cwd=tmp_path, env=BARE)
        assert (ended.returncode in ANY, ended.stderr) == (True, "")


def test_the_standard_library_stands_before_pythonpath(tmp_path: Path) -> None:
    for name in ("json", "argparse", "subprocess", "tomllib"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py was imported')\n")
    ran = gpudoctor("check", "--quick", "--json", env={"PYTHONPATH": str(tmp_path)})
    assert (ran.code in ANY, ran.err) == (True, "")


def test_pythonpath_is_among_the_facts(tmp_path: Path) -> None:
    ran = gpudoctor("facts", "--quick", "--no-mask", env={"PYTHONPATH": str(tmp_path)})
    assert json.loads(ran.out)["pythons"][0]["sys_path"][0] == str(tmp_path)


def _on_terminal(*arguments: str, **env: str) -> tuple[str, str]:
    """Standard output, which is a pipe, and standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "gpudoctor", *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=theirs, env=BARE | env, cwd="/", text=True) as child:
        os.close(theirs)
        out = child.communicate(timeout=60)[0]
    reported = b""
    try:
        while data := os.read(ours, 4096):
            reported += data
    except OSError:  # EIO: the other end was closed, pty(7)
        pass
    os.close(ours)
    return out, reported.decode()


def test_progress_goes_to_a_terminal_on_standard_error_and_is_wiped() -> None:
    out, reported = _on_terminal("check", "--quick", "--json", TERM="xterm")
    assert json.loads(out)["schema"] == "gpudoctor.report/1"
    assert "Checking the machine ..." in reported
    assert reported.endswith("\r\x1b[K")
    assert _on_terminal("check", "--quick", "--json", TERM="dumb")[1] == ""


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ({"NO_COLOR": ""}, False),
    ],
)
def test_colours(
    env: dict[str, str], coloured: bool, run: Run, facts_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in run("check", "--facts", facts_file).out) == coloured
    assert "\x1b" not in run("check", "--facts", facts_file, "--json").out


def test_colours_of_a_process() -> None:
    assert "\x1b[" in gpudoctor("check", "--quick", env={"FORCE_COLOR": "1"}).out


@pytest.mark.skipif(shutil.which("script") is None, reason="no script(1) to make a terminal")
def test_a_terminal_gets_colours_unless_it_is_dumb() -> None:
    for term, coloured in (("xterm", True), ("dumb", False)):
        line = f"{sys.executable} -m gpudoctor check --quick"
        ended = subprocess.run(
            ["script", "-qec", line, "/dev/null"], capture_output=True, text=True, env=BARE | {"TERM": term}, cwd="/"
        )
        assert ("\x1b[1" in ended.stdout) == coloured, ended


WIDTHS = [("40", 40), ("10", 40), ("60", 60), ("300", 100), ("x", 80), ("0", 80)]


@pytest.mark.parametrize(("columns", "widest"), WIDTHS)
def test_the_width_is_that_of_columns(
    columns: str, widest: int, run: Run, facts_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    ran = run("check", "--facts", facts_file)
    prose = [line for line in ran.out.splitlines() if line[:9].strip()]  # a command or a path is never broken
    assert max(len(line) for line in prose if "/" not in line) <= widest
    assert run("explain", "driver.not-loaded", "--elsewhere").code == 0


def test_the_width_of_a_process() -> None:
    ran = gpudoctor("check", "--quick", env={"COLUMNS": "60"})
    prose = [line for line in ran.out.splitlines() if line[:9].strip()]
    assert max(len(line) for line in prose if "/" not in line) <= 60


@pytest.mark.namespace
def test_a_file_system_that_is_read_only() -> None:
    frozen = "mount --bind / / && mount -o remount,ro,bind /"
    if subprocess.run(["unshare", "-m", "sh", "-c", frozen], capture_output=True).returncode:
        pytest.skip("this user may make no mount namespaces")
    inner = f"{frozen} && cd / && ! touch /etc/x 2>/dev/null && {sys.executable} -m gpudoctor check --quick --json"
    argv = ["unshare", "-m", "sh", "-c", inner]
    ended = subprocess.run(argv, capture_output=True, text=True, env=BARE, cwd="/", timeout=60)
    assert (ended.returncode in ANY, ended.stderr) == (True, "")
    json.loads(ended.stdout)
