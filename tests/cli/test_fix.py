"""`gpudoctor fix`: shown, asked, run, asked again; exit codes 0, 3, 4 and 5; undo."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import BARE, Ran, gpudoctor

CHECK = """
import os
from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes import host_steps
from gpudoctor.targets import machine
from gpudoctor.tasks import Edit, as_root, cmd, export, pipe, query, sentence
from gpudoctor.tasks.placeholders import NAME

host_steps.in_container = lambda facts: False  # where these tests run in one, a reboot would be its host's

MAKE = pipe(cmd("echo", "a"), cmd("tee", "{flag}"))
FIXES = (
    Fix("Make the flag.", (cmd("touch", "{flag}"),), undo=(cmd("rm", "{flag}"),)),
    Fix("Do what does not help.", (cmd("true"),)),
    Fix("Do what fails.", (cmd("false"),)),
    Fix("Make it by a pipe.", (MAKE, query("false")), undo=(cmd("rm", "{flag}"),)),
    Fix("Do it as root.", (as_root("touch", "{flag}"),), undo=(as_root("rm", "{flag}"),)),
    Fix("Ask somebody."),
    Fix("Do what needs a restart.", (cmd("true"),), needs="reboot", undo=sentence("Take it out again by hand.")),
    Fix("Set it.", (export("FLAG", "1"),)),
    Fix("Fill it in.", (cmd("touch", NAME),)),
    Fix("Do it on the host.", (cmd("touch", "{flag}"),), place="outside"),
    Fix("Look.", (query("ls", "{flag}"),)),
    Fix("Write it.", (Edit("{flag}", text="b\\n"), Edit("{more}", add=("c",)))),
    Fix("Write it, then fail.", (Edit("{flag}", text="b\\n"), cmd("false"))),
    Fix("Edit what cannot be.", (Edit("{more}", word=("A", "b")),)),
    Fix("Make it, then reboot.", (cmd("touch", "{flag}"), cmd("reboot"), cmd("touch", "{more}")), needs="reboot"),
    Fix("Reboot.", (cmd("reboot"),), needs="reboot"),
    Fix("Begin, then fail.", (cmd("touch", "{more}"), cmd("false")), needs="reboot", undo=(cmd("rm", "{more}"),)),
)

@check(title="There is no flag", severity=Severity.ERROR, cause="Nobody has made it.", fixes=FIXES,
       references=("https://example.org/",), targets=machine, aliases=("acme.no-banner",))
def no_flag(facts):
    return None if os.path.exists("{flag}") else "The flag is not there."

@check(title="It follows", severity=Severity.ERROR, cause="It follows.", references=("https://example.org/",),
       targets=machine, caused_by=("acme.no-flag",))
def follows(facts):
    return None if os.path.exists("{flag}") else "It does not work either."
"""


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """The flag without which the check fails; the check lies on a path of its own."""
    package, info = tmp_path / "lib" / "plugins" / "acme", tmp_path / "lib" / "acme-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    text = CHECK.replace("{flag}", str(tmp_path / "flag")).replace("{more}", str(tmp_path / "more"))
    for name in ("no_flag", "follows"):
        (package / f"{name}.py").write_text(text)
    rows = [f"{name} = plugins.acme.{name}:{name}" for name in ("no_flag", "follows")]
    (info / "entry_points.txt").write_text("\n".join(["[gpudoctor.checks]", *rows, ""]))
    return tmp_path / "flag"


def env_of(flag: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(flag.parent / "lib"), "XDG_STATE_HOME": str(flag.parent / "state")}


def fix(flag: Path, *words: str) -> Ran:
    return gpudoctor("fix", *words, "--quick", env=env_of(flag))


def test_it_is_mended_when_the_check_passes(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert flag.exists()
    assert ran.out.endswith(f"$ touch {flag}\nFixed: acme.no-flag passes.\n")
    assert "The flag is not there." in ran.out


def test_undo_takes_it_back_once(flag: Path) -> None:
    assert fix(flag, "acme.no-banner", "--yes").code == 0  # by its former id
    assert fix(flag, "--undo").code == 5
    assert flag.exists()
    assert fix(flag, "--undo", "--yes").code == 0
    assert not flag.exists()
    assert fix(flag, "--undo", "--yes").code == 3


@pytest.mark.parametrize("kind", ["fix", "undo"])
def test_a_run_that_is_killed_leaves_a_journal_that_takes_it_back(flag: Path, kind: str) -> None:
    programs = flag.parent / "bin"
    programs.mkdir()
    name = "touch" if kind == "fix" else "rm"
    killing = f'#!/bin/sh\n/usr/bin/{name} "$@" || /bin/{name} "$@"\n[ -e {programs}/again ] || kill -9 $PPID\n'
    (programs / name).write_text(killing)
    (programs / name).chmod(0o755)
    env = env_of(flag) | {"PATH": f"{programs}:/usr/bin:/bin"}
    made = gpudoctor("fix", "acme.no-flag", "--yes", "--quick", env=env)
    assert made.code == (-9 if kind == "fix" else 0), made
    assert flag.exists()
    taken = gpudoctor("fix", "--undo", "--yes", env=env)
    assert taken.code == (-9 if kind == "undo" else 0), taken
    assert not flag.exists()
    if kind == "undo":  # it was not noted as done, so it is offered again
        (programs / "again").touch()
        assert gpudoctor("fix", "--undo", "--yes", env=env).code == 0
    assert gpudoctor("fix", "--undo", "--yes", env=env).code == 3


def test_without_a_yes_nothing_is_run(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag")
    assert ran.code == 5
    assert not flag.exists()
    assert not (flag.parent / "state").exists()
    assert "fix       Make the flag." in ran.out


@pytest.mark.parametrize(
    ("choice", "code", "message"),
    [
        ("2", 4, "The fix ran, but the check still fails"),
        ("3", 4, "`false` exited with code 1. No further steps were run.\ngpudoctor: Nothing was changed before it."),
        ("6", 5, "this step is manual"),
        ("7", 0, ""),
        ("8", 5, "these commands need your own shell or editor"),
        ("9", 5, "replace NAME (the container's name) in these commands"),
        ("10", 5, "do this outside"),
        ("11", 5, "these commands only inspect"),
        ("14", 4, 'has no line A="...", so that it has to be edited by hand.'),
        ("16", 5, "this fix is a reboot, which only --reboot runs: `gpudoctor fix acme.no-flag --choice 16 "),
        ("18", 3, "There is no fix 18: acme.no-flag has 17 here."),
    ],
)
def test_each_of_its_fixes(flag: Path, choice: str, code: int, message: str) -> None:
    ran = fix(flag, "acme.no-flag", "--choice", choice, "--yes")
    assert (ran.code, message in ran.err) == (code, True), ran.err
    assert not flag.exists()
    if code in (3, 5):
        assert ran.err.count("\n") == 1
        assert ("fix       " in ran.out) is (code == 5)  # what a person has to type is shown
        assert "`gpudoctor fix acme.no-flag" in ran.err or code == 3  # and what can be run instead
    if choice == "7":
        assert "It takes effect after a reboot." in ran.out
        assert "Fixed: " not in ran.out
        undo = fix(flag, "--undo", "--yes")
        assert undo.code == 5
        assert "Manual step: Take it out again by hand." in undo.out


def test_what_does_not_ail_this_machine_gives_3(flag: Path) -> None:
    assert fix(flag, "driver.library-mismatch", "--yes").code == 3
    follows = fix(flag, "acme.follows", "--yes")
    assert follows.code == 3
    assert "`gpudoctor fix acme.no-flag`" in follows.err


def test_an_id_that_is_none_gives_2(flag: Path) -> None:
    assert fix(flag, "acme.no-flg").sentence == 'Unknown check "acme.no-flg". Did you mean "acme.no-flag"?'
    assert fix(flag, "no-flag").sentence == 'Unknown check "no-flag". Did you mean "acme.no-flag"?'
    cpu_builds = 'Did you mean "llamacpp.cpu-build", "pytorch.cpu-build" or "tensorflow.cpu-build"?'
    assert fix(flag, "cpu-build").sentence == f'Unknown check "cpu-build". {cpu_builds}'
    area = '"acme" is an area: give the ID of one finding, as `gpudoctor check` shows it.'
    assert fix(flag, "acme").sentence == area
    assert fix(flag, "acme.no-flag", "--undo").code == 2


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("\n", 5), ("no\n", 5)])
def test_at_a_terminal_it_asks(flag: Path, answer: str, code: int) -> None:
    outer, inner = pty.openpty()
    argv = [sys.executable, "-m", "gpudoctor", "fix", "acme.no-flag", "--quick"]
    process = subprocess.Popen(
        argv, stdin=inner, stderr=inner, stdout=subprocess.DEVNULL, env=BARE | env_of(flag), cwd="/"
    )
    os.close(inner)
    said = b""
    while b"[y/N] " not in said:
        said += os.read(outer, 4096)
    assert b"Run these commands now?" in said
    os.write(outer, answer.encode())
    assert process.wait(60) == code
    os.close(outer)
    assert flag.exists() is (code == 0)


def test_a_run_that_no_command_takes_back_does_not_hide_the_one_before(flag: Path) -> None:
    assert fix(flag, "acme.no-flag", "--yes").code == 0
    flag.unlink()
    assert fix(flag, "acme.no-flag", "--choice", "7", "--yes").code == 0
    flag.touch()
    first = fix(flag, "--undo", "--yes")
    assert (first.code, "The next --undo applies to the run before it." in first.err) == (5, True)
    assert fix(flag, "--undo", "--yes").code == 0
    assert not flag.exists()


def test_what_is_shown_does_not_point_back_at_itself(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag")
    assert "id        acme.no-flag" in ran.out
    assert "run       gpudoctor fix" not in ran.out


def test_what_needs_root_waits_for_a_word(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag", "--choice", "5", "--yes")
    if os.geteuid():
        assert ran.code == 5
        assert "`gpudoctor fix acme.no-flag --choice 5 --with-root`" in ran.err
    else:  # root asks nobody
        assert (ran.code, flag.exists()) == (0, True)
        assert "sudo" not in ran.out
        assert fix(flag, "--undo", "--yes").code == 0
        assert not flag.exists()


def test_a_look_up_that_finds_nothing_is_no_failure(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag", "--choice", "4", "--yes")
    assert (ran.code, flag.read_text()) == (0, "a\n")
    assert f"$ echo a | tee {flag}\n" in ran.out
    assert fix(flag, "--undo", "--yes").code == 0
    assert not flag.exists()


def test_files_get_their_former_text_back(flag: Path) -> None:
    more = flag.parent / "more"
    more.write_bytes(b"a\xff")
    more.chmod(0o640)
    assert fix(flag, "acme.no-flag", "--choice", "12", "--yes").code == 0
    assert (flag.read_text(), more.read_bytes()) == ("b\n", b"a\xff\nc\n")
    assert fix(flag, "--undo", "--yes").code == 0
    assert (flag.exists(), more.read_bytes(), more.stat().st_mode & 0o777) == (False, b"a\xff", 0o640)


def test_where_half_was_done_the_check_is_asked_again_and_undo_takes_it_back(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag", "--choice", "13", "--yes")
    assert ran.code == 4
    assert f"Done before: echo b > {flag}\n" in ran.err
    assert "Nothing was changed" not in ran.err
    assert "Fixed: acme.no-flag passes." in ran.out
    assert fix(flag, "--undo", "--yes").code == 0
    assert not flag.exists()


def test_the_line_that_carries_it_out_stands_in_the_report(flag: Path) -> None:
    ran = gpudoctor("check", "--only", "acme.no-flag", "--quick", env=env_of(flag))
    assert "run       gpudoctor fix acme.no-flag\n" in ran.out


@pytest.mark.parametrize("asked", [False, True])
def test_a_reboot_is_run_only_where_it_was_asked_for(flag: Path, asked: bool) -> None:
    stub = flag.parent / "bin" / "reboot"
    stub.parent.mkdir()
    stub.write_text(f"#!/bin/sh\ntouch {flag.parent}/rebooted\n")
    stub.chmod(0o755)
    env = env_of(flag) | {"PATH": f"{stub.parent}:{BARE['PATH']}"}
    words = ("acme.no-flag", "--choice", "15", "--yes", *(("--reboot",) if asked else ()))
    ran = gpudoctor("fix", *words, "--quick", env=env)
    assert (ran.code, ran.err, flag.exists()) == (0, "", True)
    assert (flag.parent / "rebooted").exists() is asked
    assert not (flag.parent / "more").exists()  # what stands after the reboot is for later
    left = "Done, except for the reboot. Save your work, then run:\n  reboot\n"
    assert (left in ran.out) is not asked


def test_a_fix_that_failed_halfway_is_not_called_done(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag", "--choice", "17", "--yes")
    assert ran.code == 4
    assert "Step failed" in ran.err
    assert "Done. It takes effect" not in ran.out
    assert "The fix ran in part, but the check still fails" in ran.err


def test_undo_names_when_and_where_and_leaves_the_runs_of_another_directory_alone(flag: Path) -> None:
    assert fix(flag, "acme.no-flag", "--yes").code == 0
    elsewhere = gpudoctor("fix", "--undo", "--yes", env=env_of(flag), cwd=flag.parent)
    assert elsewhere.code == 5
    assert flag.exists()
    assert re.search(r"The last run: fix acme\.no-flag \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, in /\)", elsewhere.out)
    assert "that run was started in /." in elsewhere.err
    assert fix(flag, "--undo", "--yes").code == 0
    assert not flag.exists()
