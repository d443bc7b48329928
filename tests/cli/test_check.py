"""`gpudoctor check`: exit codes, selections, and one JSON document."""

import html
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor import demo
from gpudoctor.cli.check import DEMOS
from gpudoctor.cli.output_options import NAMES
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("only", "fail_on", "code", "status"),
    [
        ("acme.well", "fail", 0, "pass"),
        ("acme.advises", "fail", 0, "pass"),
        ("acme.advises", "warn", 0, "pass"),
        ("acme.advises", "advice", 1, "pass"),
        ("acme.warns", "advice", 1, "warn"),
        ("acme.well", "advice", 0, "pass"),
        ("acme.unknown", "advice", 3, "incomplete"),
        ("acme.warns", "fail", 0, "warn"),
        ("acme.warns", "warn", 1, "warn"),
        ("acme.warns", "never", 0, "warn"),
        ("acme.fails", "fail", 1, "fail"),
        ("acme.fails", "warn", 1, "fail"),
        ("acme.fails", "never", 0, "fail"),
        ("acme.unknown", "fail", 3, "incomplete"),
        ("acme.unknown", "warn", 3, "incomplete"),
        ("acme.unknown", "never", 0, "incomplete"),
        ("acme.breaks", "fail", 3, "incomplete"),
        ("acme.breaks,acme.fails", "fail", 1, "fail"),
        ("acme.unknown,acme.warns", "fail", 3, "incomplete"),
        ("acme.unknown,acme.warns", "warn", 1, "incomplete"),
    ],
)
def test_the_exit_code_is_the_same_in_text_and_json(
    judge: Run, only: str, fail_on: str, code: int, status: str
) -> None:
    text = judge(only, "--fail-on", fail_on)
    document = judge(only, "--fail-on", fail_on, "--json")
    assert (text.code, document.code) == (code, code)
    assert json.loads(document.out)["status"] == status
    assert f"\n{status.upper()}  " in text.out
    assert text.err == document.err == ""


def test_json_is_one_document_with_the_names_that_are_promised(judge: Run) -> None:
    ran = judge("acme", "--json")
    report = json.loads(ran.out)
    assert report["schema"] == "gpudoctor.report/1"
    assert report["summary"] == {
        "fail": 1, "warn": 1, "advice": 1, "consequences": 1, "unknown": 1, "pass": 1, "skipped": 0, "broken": 1,
    }  # fmt: skip
    first = report["findings"][0]
    assert (first["check"], first["status"], first["message"]) == ("acme.fails", "fail", "It fails.")
    assert [c["check"] for c in first["consequences"]] == ["acme.follows"]
    assert first["fixes"][0]["commands"] == ["true"]
    assert {u["check"]: u["broken"] for u in report["unknown"]} == {"acme.unknown": False, "acme.breaks": True}


def test_skip_takes_away_what_only_asks_for(judge: Run) -> None:
    report = json.loads(judge("acme", "--skip", "acme.fails", "--skip", "acme.warns,acme.follows", "--json").out)
    assert [f["check"] for f in report["findings"]] == ["acme.advises"]


def test_a_former_id_still_selects_its_check(judge: Run, run: Run) -> None:
    assert judge("acme.old-fails").code == 1
    assert "The fails one" in run("explain", "acme.old-fails").out
    assert [c["id"] for c in json.loads(run("checks", "acme.old-warns", "--json").out)] == ["acme.warns"]


def test_verbose_lists_what_is_unknown(judge: Run) -> None:
    assert "nobody knows" not in judge("acme.unknown").out
    assert "acme.unknown (this machine): nobody knows" in judge("acme.unknown", "--verbose").out
    assert "see       https://example.org/" in judge("acme.fails", "-v").out


@pytest.mark.parametrize("only", ["acme.well", "acme.warns", "acme.fails", "acme.unknown"])
def test_a_symptom_changes_neither_findings_nor_exit_code(judge: Run, only: str) -> None:
    plain = judge(only, "--json")
    for text in ("Found no NVIDIA driver on your system", "no kernel image is available", "never seen", ""):
        seen = judge(only, "--json", "--symptom", text)
        assert seen.code == plain.code
        before, after = json.loads(plain.out), json.loads(seen.out)
        assert before.pop("symptoms") == []
        assert before.pop("log_origin") is None
        assert after.pop("log_origin") == ({"where": "here", "evidence": [], "typed": True} if text else None)
        assert all(one["role"] == "root" for one in after.pop("symptoms"))
        assert before == after


def test_facts_from_standard_input(facts_file: str) -> None:
    from tests.cli import gpudoctor

    text = Path(facts_file).read_text(encoding="utf-8")
    ran = gpudoctor("check", "--facts", "-", "--json", stdin=text)
    assert json.loads(ran.out)["gpus"][0]["name"] == "NVIDIA GeForce RTX 4090"
    assert ran.err == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_demo_in_every_format_says_that_it_is_one(run: Run, name: str) -> None:
    ran = run("check", "--demo", "mismatch", "--format", name)
    assert ran.code in (1, 2)  # 2: a failure, in the convention of Nagios
    assert "550.107.02" in ran.out or name == "prometheus"
    sentence = 'Demo "mismatch": this is a recorded machine, not yours.'
    assert ran.err == ("" if name == "text" else f"gpudoctor: {sentence}\n")
    assert name not in ("text", "json", "markdown", "html") or sentence in html.unescape(ran.out).replace('\\"', '"')


def test_the_demos_are_those_that_ship() -> None:
    assert tuple(demo.DEMOS) == DEMOS


@pytest.mark.parametrize("activated", [True, False])
def test_a_program_that_is_not_on_path_says_how_it_is_typed(activated: bool) -> None:
    program = Path(sys.executable).with_name("gpudoctor")
    path = f"{program.parent}:/usr/bin" if activated else "/usr/bin"
    ended = subprocess.run(
        [program, "check", "--quick"], env={"PATH": path, "COLUMNS": "200"}, capture_output=True, text=True
    )
    assert (f"`gpudoctor` is not on PATH: type `{program}` instead" in ended.stdout) is not activated
