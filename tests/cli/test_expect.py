"""`check --expect`, files that nobody names, and `record`: as they are typed."""

import json
from argparse import Namespace
from pathlib import Path
from threading import Event

import pytest

from gpudoctor.cli import UsageError, expect_options
from gpudoctor.facts import Facts
from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.sanitize import document
from tests.builders import change, framework, live, with_framework
from tests.checks import healthy_nvidia as nv
from tests.cli import gpudoctor, main
from tests.expect import one

LINUX = one("host.system", "is='Linux'")
NO_LINUX = one("host.system", "is='Plan 9'")


def kept(folder: Path, text: str, name: str = "gpudoctor.toml") -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(0o644)
    return str(path)


def facts(folder: Path, of: Facts) -> str:
    return kept(folder, document(of), "host.json")


def quick(*more: str, cwd: Path) -> tuple[int, list[str]]:
    """The exit code, and the expectations that do not hold."""
    ran = gpudoctor("check", "--quick", "--json", *more, cwd=cwd)
    assert ran.err == ""
    found = json.loads(ran.out)
    return ran.code, [f"{one['subject']}: {one['message']}" for one in found["findings"] if "expect." in one["check"]]


def test_a_file_in_the_folder_is_read_without_being_named(tmp_path: Path) -> None:
    message = 'gpudoctor.toml:1: host.system: expected "Plan 9", found "Linux".'
    assert quick(cwd=tmp_path)[1] == []
    kept(tmp_path, NO_LINUX)
    assert quick(cwd=tmp_path) == (1, [message])
    assert quick("--no-expect", cwd=tmp_path)[1] == []
    assert quick("--skip", "expect", cwd=tmp_path)[1] == []
    assert quick("--only", "expect", cwd=tmp_path) == (1, [message])
    assert quick("--only", "driver", cwd=tmp_path)[1] == []


def test_a_file_that_is_named_stands_in_its_place(tmp_path: Path) -> None:
    kept(tmp_path, NO_LINUX)
    code, message = quick("--only", "expect", "--expect", kept(tmp_path, LINUX, "a.toml"), cwd=tmp_path)
    assert (code in (0, 3), message) == (True, [])  # 3: this machine has no GPU
    code, message = quick("--expect", "a.toml", "--expect", kept(tmp_path, NO_LINUX, "b.toml"), cwd=tmp_path)
    assert (code, len(message)) == (1, 1)


def test_the_sites_files_are_read_too_under_the_examined_root(tmp_path: Path) -> None:
    site = tmp_path / "root/etc/gpudoctor/expect.d"
    site.mkdir(parents=True)
    for name, text in (("20-b.toml", NO_LINUX), ("10-a.toml", LINUX), ("notes.txt", "="), (".hidden.toml", "=")):
        kept(site, text, name)
    code, message = quick("--root", str(tmp_path / "root"), cwd=tmp_path)
    assert code == 1
    assert message == [f'{site}/20-b.toml:1: host.system: expected "Plan 9", found "Linux".']
    (site / "30-c.toml").symlink_to(kept(tmp_path, LINUX, "outside.toml"))
    ran = gpudoctor("check", "--quick", "--root", str(tmp_path / "root"), cwd=tmp_path)
    assert "30-c.toml is a link to outside of" in ran.sentence


def test_facts_of_another_desk_are_held_against_named_files_alone(tmp_path: Path) -> None:
    name = facts(tmp_path, nv.hgx(nv.H100, 4))
    kept(tmp_path, one("gpus", "count=16"))
    assert gpudoctor("check", "--facts", name, cwd=tmp_path).code == 0
    ran = gpudoctor("check", "--facts", name, "--expect", "gpudoctor.toml", cwd=tmp_path)
    assert ran.code == 1
    assert "gpus: expected 16 of them, found 8." in ran.out
    assert "gpudoctor.toml:1" in ran.out


def test_what_nobody_knows_is_exit_code_three(tmp_path: Path) -> None:
    name = facts(tmp_path, nv.hgx(nv.H100, 4))
    text = one("smoke.pytorch.transfer.h2d pinned", "at_least=50")
    ran = gpudoctor("check", "--facts", name, "--expect", kept(tmp_path, text), "--json", cwd=tmp_path)
    assert ran.code == 3
    assert json.loads(ran.out)["status"] == "incomplete"


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("", 0o644, "gpudoctor.toml contains no expectations"),
        ("x", 0o644, "gpudoctor.toml:1: invalid TOML: "),
        (one("gpu", "count=1"), 0o644, 'gpudoctor.toml:1: gpu: unknown fact "gpu". Did you mean "gpus"?'),
        (LINUX, 0o666, "gpudoctor.toml is not used, because others can write to it (mode 0666)."),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, mode: int, message: str) -> None:
    Path(kept(tmp_path, text)).chmod(mode)
    assert gpudoctor("check", "--quick", cwd=tmp_path).sentence.startswith(message)
    assert gpudoctor("check", "--quick", "--no-expect", cwd=tmp_path).err == ""


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    ran = gpudoctor("check", "--quick", "--expect", "none.toml", cwd=tmp_path)
    assert ran.sentence == "none.toml cannot be read: No such file or directory."


def test_a_mount_that_does_not_answer_does_not_hold_us_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Event()
    monkeypatch.setattr(expect_options, "SECONDS", 0.05)
    monkeypatch.setattr("gpudoctor.expect.discovery.expectations", lambda *_: answers.wait(60))
    try:
        arguments = Namespace(expect=[], facts=None, demo=None, root="/", no_expect=False)
        with pytest.raises(UsageError, match=r"could not be read within 0\.05 s; --no-expect skips"):
            expect_options.expecting(arguments, CheckOptions())
    finally:
        answers.set()


def test_a_masked_report_ends_as_the_true_one(tmp_path: Path) -> None:
    name = facts(tmp_path, change(nv.hgx(nv.H100, 4), "host.hostname", "alpha-7"))
    for wanted, code in (("alpha-7", 0), ("alpha-8", 1)):
        text = kept(tmp_path, one("host.hostname", f"is='{wanted}'"))
        for form in ("text", "markdown", "junit"):
            ran = gpudoctor("check", "--facts", name, "--expect", text, "--format", form, cwd=tmp_path)
            assert ran.code == code
            assert ("alpha" in ran.out) is (form == "text" and code == 1)


def test_explain_says_where_an_expectation_stands() -> None:
    ran = gpudoctor("explain", "expect.gpus")
    assert (ran.code, "The finding names the file and the line" in " ".join(ran.out.split())) == (0, True)


# -- record --------------------------------------------------------------------------------------------------


def test_what_is_recorded_holds_on_the_same_facts(tmp_path: Path) -> None:
    name = facts(tmp_path, nv.hgx(nv.H100, 4))
    ran = gpudoctor("record", "--facts", name, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert gpudoctor("record", "--facts", name, "--output", "written.toml", cwd=tmp_path).out == ""
    assert (tmp_path / "written.toml").read_text() == ran.out
    report = gpudoctor("check", "--facts", name, "--expect", "written.toml", "--only", "expect", cwd=tmp_path)
    assert report.code == 0, report


def test_the_directory_of_the_file_is_made(tmp_path: Path) -> None:
    """Nothing else makes /etc/gpudoctor/expect.d, which the documentation writes to."""
    name = facts(tmp_path, nv.hgx(nv.H100, 4))
    ran = gpudoctor("record", "--facts", name, "--output", "etc/gpudoctor/expect.d/node.toml", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert (tmp_path / "etc/gpudoctor/expect.d/node.toml").read_text().count("[expect.") > 5


def test_a_machine_that_fails_is_not_recorded(tmp_path: Path) -> None:
    name = facts(tmp_path, with_framework(framework(cuda=None, variant="cpu", live=live(0))))
    ran = gpudoctor("record", "--facts", name, "--output", "written.toml", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("gpudoctor: Refusing to record: this machine has failures (pytorch.cpu-b")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "written.toml").exists()
    forced = gpudoctor("record", "--facts", name, "--force", cwd=tmp_path)
    assert forced.code == 0
    assert "was NOT known to be healthy" in forced.out


def test_nothing_to_record_is_exit_code_three(tmp_path: Path) -> None:
    ran = gpudoctor("record", "--facts", facts(tmp_path, Facts()), "--force", cwd=tmp_path)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "gpudoctor: No GPU, driver or framework found to record.\n"


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    name = facts(tmp_path, nv.hgx(nv.H100, 4))
    ran = gpudoctor("record", "--facts", name, "-o", "/proc/none/e.toml", cwd=tmp_path)
    assert ran.sentence == "/proc/none/e.toml cannot be written: No such file or directory."
    for option in ("--smoke", "--root=/tmp"):
        assert "cannot be used with --facts" in gpudoctor("record", "--facts", name, option, cwd=tmp_path).sentence


def test_help_names_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--help"]) == 0
    assert "--force" in capsys.readouterr().out


def test_fix_reads_the_same_files_as_check(tmp_path: Path) -> None:
    kept(tmp_path, one("host.system", "is='Plan 9'", "fix='Ask Ken.'"))
    shown = gpudoctor("fix", "--quick", cwd=tmp_path)
    assert (shown.code, "fix       Ask Ken." in shown.out) == (5, True)
    assert gpudoctor("fix", "expect.host-system", "--quick", cwd=tmp_path).code == 5
    left = gpudoctor("fix", "expect.host-system", "--quick", "--no-expect", cwd=tmp_path)
    assert (left.code, 'Unknown check "expect.host-system"' in left.err) == (2, True)
    named = ("--expect", kept(tmp_path, LINUX, "a.toml"))
    met = gpudoctor("fix", "expect.host-system", "--quick", *named, cwd=tmp_path)
    assert (met.code, "nothing to fix" in met.err) == (3, True)
