"""`gpudoctor diff`: what differs between two files, what matters first; exit codes; one JSON document."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from gpudoctor import demo as gpudoctor_demo
from gpudoctor.facts import Facts
from gpudoctor.report.build import build
from gpudoctor.report.renderers.json import render
from tests.builders import change, nvidia_host
from tests.cli import gpudoctor, shell
from tests.cli.conftest import Run

HERE = nvidia_host()
DRIVER = change(HERE, "nvidia.kernel.loaded", "580.95.05")
LITTLE = change(HERE, "pci.0.name", "another name of the card")


def _file(folder: Path, name: str, facts: Facts) -> str:
    (folder / name).write_bytes(msgspec.json.encode(facts))
    return str(folder / name)


@pytest.fixture
def here(tmp_path: Path) -> str:
    """A healthy machine."""
    return _file(tmp_path, "here.json", HERE)


@pytest.fixture
def there(tmp_path: Path) -> str:
    """The same with another driver loaded."""
    return _file(tmp_path, "there.json", DRIVER)


def test_what_matters_is_told_first_and_gives_1(run: Run, here: str, there: str) -> None:
    ran = run("diff", here, there)
    assert (ran.code, ran.err) == (1, "")
    lines = ran.out.splitlines()
    assert lines[:4] == ["A  here.json", "B  there.json", "", "Driver and kernel"]
    assert ["NVIDIA", "driver", "570.169", "580.95.05"] in [line.split() for line in lines]


def test_nothing_that_matters_gives_0(run: Run, here: str, tmp_path: Path) -> None:
    assert run("diff", here, here).code == 0
    later = _file(tmp_path, "later.json", change(change(HERE, "created", "2027-01-01T00:00:00Z"), "seconds", 99.0))
    ran = run("diff", here, later)
    assert ran.code == 0
    assert ran.out.endswith(
        "\nNo relevant differences (time, load, temperature, processes and serial numbers\nare ignored).\n"
    )


def test_what_matters_little_is_counted_and_listed_by_all(run: Run, here: str, tmp_path: Path) -> None:
    other = _file(tmp_path, "other.json", LITTLE)
    brief, whole = run("diff", here, other), run("diff", here, other, "--all")
    assert brief.code == whole.code == 0
    assert brief.out.endswith("0 relevant differences, 1 other (--all lists them).\n")
    assert "another name of the card" not in brief.out
    assert "another name of the card" in whole.out
    assert whole.out.endswith("0 relevant differences, 1 other.\n")


def test_json_is_one_document(run: Run, here: str, there: str) -> None:
    ran = run("diff", here, there, "--json")
    document = json.loads(ran.out)
    assert (ran.code, ran.err, document["schema"]) == (1, "", "gpudoctor.diff/1")
    assert list(document) == ["schema", "here", "there", "whole", "matters", "differences"]
    row = next(one for one in document["differences"] if one["path"] == "nvidia.kernel.loaded")
    assert row == {
        "path": "nvidia.kernel.loaded", "label": "NVIDIA driver", "group": "driver", "state": "differs",
        "matters": True, "here": "570.169", "there": "580.95.05", "change": None,
    }  # fmt: skip
    assert document["matters"] == sum(one["matters"] for one in document["differences"])


def test_a_report_on_one_side_tells_less(run: Run, here: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(render(build(DRIVER, [])))
    ran = run("diff", here, str(path))
    assert ran.code == 1
    assert ran.out.endswith("One side is a report, which contains less than facts.\n")
    assert json.loads(run("diff", str(path), str(path), "--json").out)["differences"] == []


def test_files_of_one_name_are_told_by_their_paths(run: Run, here: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = _file(tmp_path / "other", "here.json", DRIVER)
    assert run("diff", here, other).out.splitlines()[:2] == [f"A  {here}", f"B  {other}"]


def test_one_side_from_standard_input_or_a_pipe(here: str, there: str) -> None:
    text = Path(there).read_text(encoding="utf-8")
    ran = gpudoctor("diff", here, "-", stdin=text)
    assert (ran.code, ran.out.splitlines()[1]) == (1, "B  standard input")
    ran = shell(f"gpudoctor diff <(cat {there}) {there}; gpudoctor diff {there} <(cat {here}) --json | head -c 1")
    assert ran.out.startswith("A  /dev/fd/")
    assert ran.out.endswith("{")


@pytest.mark.parametrize("text", ["", "{}", "[", '{"schema": "gpudoctor.report/1", "findings": 3}', "\x00" * 100])
def test_a_bad_file_is_told_in_one_sentence(here: str, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad").write_text(text)
    for arguments in ([here, "bad"], ["bad", here]):
        assert "bad" in gpudoctor("diff", *arguments, cwd=tmp_path).sentence
    assert gpudoctor("diff", here, "-", stdin=text).sentence


def test_what_is_no_file(here: str, tmp_path: Path) -> None:
    assert "no/such" in gpudoctor("diff", here, "no/such").sentence
    assert gpudoctor("diff", str(tmp_path), here).sentence == f"{tmp_path} is not a file."
    assert gpudoctor("diff", "-", "-").sentence == "Only one of the two files can be standard input."
    assert gpudoctor("diff", here).code == 2
    assert shell(f"gpudoctor diff - {here} <&-").sentence == "Standard input is closed: nothing to compare."
    if os.getuid():
        (tmp_path / "closed").touch(mode=0)
        assert gpudoctor("diff", here, str(tmp_path / "closed")).sentence


@pytest.mark.parametrize("columns", ["40", "60", "100", "200"])
def test_it_is_as_wide_as_the_terminal(here: str, tmp_path: Path, columns: str) -> None:
    long = change(DRIVER, "host.kernel.command_line", "BOOT=1 " + "quiet splash " * 30)
    other = _file(tmp_path, "long.json", long)
    ran = gpudoctor("diff", here, other, "--all", env={"COLUMNS": columns})
    lines = ran.out.splitlines()
    assert max(len(line) for line in lines if "." not in line.strip(" AB")) <= min(int(columns), 120)
    assert any("NVIDIA driver" in line and "580.95.05" in line for line in lines)  # in columns
    assert any(line.startswith("    B  BOOT=1 quiet") for line in lines)  # too long for them


def test_a_hostile_file_moves_no_cursor(here: str, tmp_path: Path) -> None:
    other = _file(tmp_path, "x.json", change(HERE, "host.environment", {"A\x1b[2J": "\x1b]0;owned\x07\u202e"}))
    ran = gpudoctor("diff", here, other, "--all")
    assert not {c for c in ran.out if c != "\n" and (ord(c) < 32 or c == "\u202e")}


def test_a_finding_comes_before_every_fact(run: Run) -> None:
    demos = Path(gpudoctor_demo.__file__).parent
    lines = run("diff", str(demos / "cpu-wheel.json"), str(demos / "mismatch.json")).out.splitlines()
    assert lines[3] == "Problems"
    assert "  driver.library-mismatch" in lines[: lines.index("Driver and kernel")]
    assert lines.index("Problems") < lines.index("Driver and kernel") < lines.index("GPUs, links and memory")
