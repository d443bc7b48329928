"""Wrong usage is told in one sentence, with the nearest name, and exit code 2."""

import os
from pathlib import Path

import pytest

from gpudoctor.cli import COMMANDS
from gpudoctor.cli.explain import NOTHING
from gpudoctor.facts.facts_file import LIMIT
from tests.cli import gpudoctor
from tests.cli.conftest import Run
from tests.probes.environments import script


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("chek", 'Unknown command "chek". Did you mean "check"?'),
        ("zzz", f'Unknown command "zzz". Choose from: {", ".join(COMMANDS)}.'),
        ("check --jsn", 'Unknown option "--jsn". Did you mean "--json"?'),
        ("check --pyton=x", 'Unknown option "--pyton=x". Did you mean "--python"?'),
        ("check --zzz", 'Unknown option "--zzz". See `gpudoctor check --help`.'),
        ("check --verb", 'Unknown option "--verb". Did you mean "--verbose"?'),
        ("check more", 'Unexpected argument "more". See `gpudoctor check --help`.'),
        ("check --python", "--python: expected one argument."),
        ("check --fail-on wrn", 'Unknown --fail-on value "wrn". Did you mean "warn"?'),
        ("check --fail-on x", 'Unknown --fail-on value "x". Choose from: fail, warn, advice, never.'),
        ("check --timeout 0", "--timeout takes 1 to 86400 seconds, not 0."),
        ("check --timeout soon", "--timeout takes 1 to 86400 seconds, not soon."),
        ("check --timeout nan", "--timeout takes 1 to 86400 seconds, not nan."),
        ("facts --timeout inf", "--timeout takes 1 to 86400 seconds, not inf."),
        ("check --root /proc/none", "--root /proc/none is not a directory."),
        ("check --root /etc/hostname", "--root /etc/hostname is not a directory."),
        ("facts --root /proc/none", "--root /proc/none is not a directory."),
        ("check --only zzz", 'Unknown check or area "zzz". `gpudoctor checks` lists them all.'),
        ("check --only acme.fail", 'Unknown check or area "acme.fail". Did you mean "acme.fails"?'),
        ("check --skip acm", 'Unknown check or area "acm". Did you mean "acme"?'),
        ("check --only acme --skip acme", "No checks left: --skip removes everything that --only selects."),
        ("check --only=", 'Unknown check or area "". `gpudoctor checks` lists them all.'),
        ("checks zzz", 'Unknown check or area "zzz". `gpudoctor checks` lists them all.'),
        ("checks nvlinkk", 'Unknown check or area "nvlinkk". Did you mean "link"?'),
        ("help chek", 'Unknown command "chek". Did you mean "check"?'),
        ("help check more", 'Unexpected argument "more". See `gpudoctor check --help`.'),
        ("fleet nod", 'Unknown command "nod". Choose from: run, report, merge.'),
        ("check --demo mismach", 'Unknown --demo value "mismach". Did you mean "mismatch"?'),
        ("check --demo mismatch --python x", "--python cannot be used with --demo, which opens a recorded machine."),
        ("check --demo mismatch --facts x", "--facts cannot be used with --demo, which opens a recorded machine."),
        ("check --demo mismatch --smoke", "--smoke cannot be used with --demo, which opens a recorded machine."),
        ("--samples x", "The application needs a terminal. `gpudoctor check` prints the diagnosis as text."),
        ("explain", NOTHING),
        ("explain acme.fail", 'Unknown check "acme.fail". Did you mean "acme.fails"?'),
        ("explain fails", 'Unknown check "fails". Did you mean "smoke.fails" or "acme.fails"?'),
        ("check --facts /proc/none", "The facts file /proc/none cannot be read: No such file or directory."),
        ("check --facts /", "The facts file / cannot be read: Is a directory."),
        ("facts --quick --output /proc/none/x", "/proc/none/x cannot be written: No such file or directory."),
    ],
)
def test_one_sentence(run: Run, line: str, sentence: str) -> None:
    assert run(*line.split()).sentence == sentence


def test_options_that_contradict_each_other(run: Run, facts_file: str) -> None:
    reported = "cannot be used with --facts: the file contains what was found on its own machine."
    assert run("check", "--facts", facts_file, "--root", "/tmp").sentence == f"--root {reported}"
    assert run("check", "--facts", facts_file, "--python", "python3").sentence == f"--python {reported}"
    reported = "--python cannot be used with --root: it would run an interpreter, and nothing is run there."
    assert run("check", "--root", "/tmp", "--python", "/usr/bin/python3").sentence == reported


def test_facts_files_that_are_none(run: Run, tmp_path: Path, facts_file: str) -> None:
    path = tmp_path / "facts.json"
    good = Path(facts_file).read_bytes()
    for data, words in (
        (b"", "is not valid"),
        (good[:200], "is not valid: Input data was truncated."),
        (b"{}", "has the schema ''; this version reads gpudoctor.facts/1."),
        (good.replace(b'"index":0', b'"index":"\x1b[31m"'), "is not valid"),
        (b"\x7fELF", "is not valid"),
    ):
        path.write_bytes(data)
        assert words in run("check", "--facts", str(path)).sentence
    with path.open("wb") as file:
        file.truncate(LIMIT + 1)
    assert run("check", "--facts", str(path)).sentence.endswith("is larger than 32 MiB.")


def test_interpreters_that_are_none(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "python-notes"
    text.write_text("no program\n")
    (tmp_path / "dangling").symlink_to("/proc/none/python")
    for given, words in (
        (str(tmp_path / "none"), f"{tmp_path}/none: no such file or directory."),
        ("no-such-program", "no-such-program: no such file, directory or program on PATH."),
        (str(tmp_path), "contains no bin/python."),
        (str(text), "is not executable."),
        (str(tmp_path / "dangling"), "is a link to /proc/none/python, which does not exist or"),
        ("/bin/sh", "is not named like a Python interpreter."),
    ):
        assert words in run("check", "--quick", "--python", given).sentence
        assert words in run("facts", "--quick", "--python", given).sentence


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("exit 3", "exited with code 3, without output."),
        ("echo broken >&2; exit 1", "exited with code 1: broken."),
        ("kill -SEGV $$", "was killed by SIGSEGV at startup."),
        ("echo I am a shell", "does not respond like a Python interpreter: I am a shell."),
    ],
)
def test_an_interpreter_that_was_named_and_does_not_run(run: Run, tmp_path: Path, body: str, words: str) -> None:
    path = script(tmp_path / "python3", body)
    assert run("check", "--quick", "--python", path).sentence == f"{path} {words}"


def test_an_interpreter_of_no_format_and_one_whose_loader_is_gone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "python3"
    path.write_text("#!/nonexistent-loader\n")
    path.chmod(0o755)
    assert run("check", "--quick", "--python", str(path)).sentence == (
        f"{path} cannot be started: No such file or directory."
    )
    path.write_bytes(os.urandom(64))
    assert "cannot be started: Exec format error." in run("check", "--quick", "--python", str(path)).sentence


def test_one_broken_interpreter_among_good_ones_is_named(run: Run, tmp_path: Path) -> None:
    import sys

    path = script(tmp_path / "python3", "exit 3")
    assert run("check", "--quick", "--python", sys.executable, "--python", path).sentence.startswith(path)


def test_names_with_control_characters_and_bytes_that_are_no_text() -> None:
    ran = gpudoctor("check", "--python", "/tmp/\x1b[31m\udcff")
    assert ran.sentence == "/tmp/\\x1b[31m\\udcff: no such file or directory."


def test_a_fault_of_ours_is_not_taken_for_a_sick_machine(judge: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.cli import output_options

    monkeypatch.setattr(output_options, "rendered", lambda *_: 1 / 0)
    ran = judge("acme.well")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("gpudoctor: This is a bug in gpudoctor; please report it with these lines:\nTraceback")
    assert ran.err.endswith("ZeroDivisionError: division by zero\n")
