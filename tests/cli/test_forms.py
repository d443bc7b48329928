"""The form of a report: its format, its file, its masks, and the exit codes that a reader expects."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli import output_options
from gpudoctor.report.formats import FORMATS
from tests.builders import change, nvidia_host, python
from tests.cli import gpudoctor
from tests.cli.conftest import Run

ALL = ("acme.fails", "acme.warns", "acme.well", "acme.unknown")


def test_the_names_are_those_of_the_formats() -> None:
    assert tuple(FORMATS) == output_options.NAMES


@pytest.mark.parametrize("name", [name for name in output_options.NAMES if name not in ("nagios", "npd")])
def test_the_exit_code_is_the_same_in_every_format(judge: Run, name: str) -> None:
    codes = [judge(only, "--format", name).code for only in ALL]
    assert codes == [1, 0, 0, 3]
    assert judge("acme.warns", "--format", name, "--fail-on", "warn").code == 1


@pytest.mark.parametrize(
    ("name", "expected", "with_warnings"),
    [("nagios", [2, 1, 0, 3], [2, 1, 0, 3]), ("npd", [1, 0, 0, 2], [1, 1, 0, 2])],
)
def test_monitoring_keeps_its_own_codes(judge: Run, name: str, expected: list[int], with_warnings: list[int]) -> None:
    assert [judge(only, "--format", name).code for only in ALL] == expected
    assert [judge(only, "--format", name, "--fail-on", "warn").code for only in ALL] == with_warnings
    assert judge("acme.advises", "--format", name, "--fail-on", "advice").code == (1 if name == "npd" else 0)
    assert [judge(only, "--format", name, "--fail-on", "never").code for only in ALL] == [0, 0, 0, 0]


@pytest.mark.parametrize("line", ["--format nagios --only zzz", "--format=nagios --zzz", "--zzz --format nagios"])
def test_a_plugin_that_is_used_wrongly_is_unknown(run: Run, line: str) -> None:
    ran = run("check", *line.split())
    assert ran.code == 3
    assert ran.out.startswith("GPU UNKNOWN - Unknown ")
    assert ran.out.count("\n") == 1
    assert ran.err.startswith("gpudoctor: Unknown ")


def test_json_has_two_names(judge: Run) -> None:
    first, second = json.loads(judge("acme", "--json").out), json.loads(judge("acme", "--format", "json").out)
    for changing in ("created", "seconds"):
        assert first.pop(changing) == second.pop(changing)
    assert first == second
    assert judge("acme", "--json", "--format", "json").code == 1
    reported = judge("acme", "--json", "--format", "junit").sentence
    assert reported == "--json and --format junit cannot be used together."


def test_wrong_names(run: Run) -> None:
    assert run("check", "--format", "jnit").sentence == 'Unknown --format value "jnit". Did you mean "junit"?'
    reported = "--output needs a file name; an unset shell variable gives an empty one."
    assert run("smoke", "--output", "").sentence == reported


@pytest.mark.parametrize("name", output_options.NAMES)
def test_a_file_holds_what_standard_output_would(judge: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "report"
    said, ran = judge("acme.fails", "--format", name), judge("acme.fails", "--format", name, "--output", str(path))
    assert (ran.code, ran.out) == (said.code, "")
    assert path.read_text() == said.out
    assert judge("acme.fails", "--format", name, "-o", "-").out == said.out
    assert os.listdir(tmp_path) == ["report"]


def test_a_file_that_cannot_be_written(judge: Run, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    reported = judge("acme.well", "-o", str(tmp_path / "no" / "x")).sentence
    assert reported == f"{tmp_path}/no/x cannot be written: No such file or directory."
    reported = judge("acme.well", "-o", str(tmp_path / "there")).sentence
    assert reported == f"{tmp_path}/there cannot be written: Is a directory."
    assert judge("acme.well", "-o", str(tmp_path / "no" / "x"), "--format", "nagios").code == 3
    assert os.listdir(tmp_path) == ["there"]


def test_a_device_is_written_to_and_not_replaced(judge: Run) -> None:
    assert judge("acme.well", "-o", "/dev/null").code == 0
    assert not os.path.isfile("/dev/null")


@pytest.fixture
def alices(tmp_path: Path) -> str:
    """The facts of somebody whose names stand in a finding."""
    facts = change(change(nvidia_host(), "host.hostname", "gpu-node-7"), "host.user.name", "alice")
    environment = {"CUDA_VISIBLE_DEVICES": "7", "HF_HOME": "hf_abcdefghijklmnop"}
    facts = change(facts, "host.environment", environment)
    path = tmp_path / "alice.json"
    path.write_bytes(msgspec.json.encode(change(facts, "pythons", (python(path="/home/alice/env/bin/python"),))))
    return str(path)


@pytest.mark.parametrize("name", output_options.NAMES)
def test_what_is_handed_on_is_masked(run: Run, alices: str, name: str) -> None:
    symptom = "alice@gpu-node-7: CUDA error in /home/alice/train.py, token hf_abcdefghijklmnop"
    words = ("check", "--facts", alices, "--verbose", "--format", name, "--symptom", symptom)
    reported = {mask: run(*words, *([mask] if mask else [])).out for mask in ("", "--mask", "--no-mask")}
    assert reported[""] == reported["--mask" if FORMATS[name].leaves else "--no-mask"]
    assert "alice" not in reported["--mask"]
    assert "gpu-node-7" not in reported["--mask"]
    assert "hf_" not in "".join(reported.values())


def test_the_same_is_found_under_the_mask(run: Run, alices: str) -> None:
    said = [json.loads(run("check", "--facts", alices, "--json", mask).out) for mask in ("--mask", "--no-mask")]
    assert said[0]["summary"] == said[1]["summary"]
    assert "/home/alice" in str(said[1])


def test_a_job_gets_its_summary(judge: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    assert judge("acme.fails", "--format", "github").out.startswith("::error title=acme.fails%3A The fails one::")
    assert path.read_text().startswith("before\n")
    assert "### 1. FAIL: The fails one" in path.read_text()
    judge("acme.fails", "--format", "tap")
    assert path.read_text().count("The fails one") == 1


def test_a_summary_that_cannot_be_written_is_told(judge: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/proc/none")
    ran = judge("acme.warns", "--format", "github")
    assert ran.out.startswith("::warning ")
    assert (ran.code, ran.err) == (
        0,
        "gpudoctor: The job summary /proc/none cannot be written: No such file or directory.\n",
    )


def test_smoke_tests_have_the_formats_too(tmp_path: Path) -> None:
    ran = gpudoctor("smoke", "matmul", "--backend", "cpu", "--format", "tap", "-o", "smoke.tap", cwd=tmp_path)
    assert ran.out == ""
    assert "smoke: " in (tmp_path / "smoke.tap").read_text() or "matmul" in (tmp_path / "smoke.tap").read_text()


def test_ascii_terminals(alices: str) -> None:
    env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    for name in output_options.NAMES:
        ran = gpudoctor("check", "--facts", alices, "--format", name, env=env)
        assert ran.out.isascii()
        assert ran.err == ""


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_logs_secrets_are_not_repeated(run: Run, alices: str, tmp_path: Path, more: tuple[str, ...]) -> None:
    log = tmp_path / "train.log"
    log.write_text("Traceback (most recent call last):\nValueError: no such revision, token=hf_abcdefghijklmnop\n")
    ran = run("explain", "--log", str(log), "--facts", alices, *more)
    assert "no such revision" in ran.out
    assert "hf_" not in ran.out
