"""`gpudoctor fix`: shown, asked, run, asked again; exit codes 0, 3, 4 and 5; undo."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import BARE, Ran, gpudoctor

CHECK = """
import os
from gpudoctor.judge import Fix, Severity, check
from gpudoctor.subjects import machine

FIXES = (
    Fix("Make the flag.", ("touch {flag}",), undo="rm {flag}"),
    Fix("Do what does not help.", ("true",)),
    Fix("Do what fails.", ("false",)),
    Fix("Do it by a pipe.", ("echo a | cat > {flag}",)),
    Fix("Do it as root.", ("sudo touch {flag}",), root=True),
    Fix("Ask somebody."),
    Fix("Do what needs a restart.", ("true",), needs="reboot", undo="Take it out again by hand, and restart."),
)

@check(title="There is no flag", severity=Severity.ERROR, cause="Nobody has made it.", fixes=FIXES,
       references=("https://example.org/",), each=machine, aliases=("acme.no-banner",))
def no_flag(facts):
    return None if os.path.exists("{flag}") else "The flag is not there."

@check(title="It follows", severity=Severity.ERROR, cause="It follows.", references=("https://example.org/",),
       each=machine, because=("acme.no-flag",))
def follows(facts):
    return None if os.path.exists("{flag}") else "It does not work either."
"""


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """The flag without which the check fails; the check lies on a path of its own."""
    package, info = tmp_path / "lib" / "plugins" / "acme", tmp_path / "lib" / "acme-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    text = CHECK.replace("{flag}", str(tmp_path / "flag"))
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
    assert ran.out.endswith(f"$ touch {flag}\nMended: acme.no-flag passes.\n")
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
    assert "fix     Make the flag." in ran.out


@pytest.mark.parametrize(
    ("choice", "code", "says"),
    [
        ("2", 4, "It was done, and the check fails still"),
        ("3", 4, "`false` ended with exit code 1. Nothing more was run."),
        ("4", 5, "these commands need your shell"),
        ("5", 5, "it needs root. Type the commands, or give --with-root."),
        ("6", 5, "this is something for a person to do"),
        ("7", 0, ""),
        ("8", 3, "acme.no-flag has 7 fixes here, not 8."),
    ],
)
def test_each_of_its_fixes(flag: Path, choice: str, code: int, says: str) -> None:
    ran = fix(flag, "acme.no-flag", "--choice", choice, "--yes")
    assert (ran.code, says in ran.err) == (code, True)
    assert not flag.exists()
    if choice == "7":
        assert "It is in force after: reboot." in ran.out
        assert "Mended" not in ran.out
        undo = fix(flag, "--undo", "--yes")
        assert undo.code == 5
        assert "By hand: Take it out again by hand, and restart." in undo.out


def test_what_does_not_ail_this_machine_gives_3(flag: Path) -> None:
    assert fix(flag, "driver.library-mismatch", "--yes").code == 3
    follows = fix(flag, "acme.follows", "--yes")
    assert follows.code == 3
    assert "`gpudoctor fix acme.no-flag`" in follows.err


def test_an_id_that_is_none_gives_2(flag: Path) -> None:
    assert fix(flag, "acme.no-flg").sentence == 'There is no check or area "acme.no-flg". Did you mean "acme.no-flag"?'
    assert fix(flag, "acme").sentence == '"acme" is no check; `gpudoctor checks` lists them.'
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
    assert (first.code, "The next --undo is about the run before it." in first.err) == (5, True)
    assert fix(flag, "--undo", "--yes").code == 0
    assert not flag.exists()


def test_what_is_shown_does_not_point_back_at_itself(flag: Path) -> None:
    ran = fix(flag, "acme.no-flag")
    assert "id      acme.no-flag" in ran.out
    assert "mend    gpudoctor fix" not in ran.out
