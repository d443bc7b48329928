"""`gpudoctor fleet merge`: what it says, its exit codes, and that it writes a file that it can read."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.fleet.aggregate.reports import lay, report


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder with the reports of two nodes."""
    return lay(tmp_path / "shared", {"n1": report(), "n2": report(status="fail")})


def test_a_folder(run: Run, shared: Path, tmp_path: Path) -> None:
    ran = run("fleet", "merge", str(shared), "-o", str(tmp_path / "x.jsonl"))
    assert (ran.code, ran.out, ran.err) == (0, "", f"gpudoctor: {tmp_path}/x.jsonl contains 2 nodes.\n")
    assert [json.loads(line)["node"] for line in (tmp_path / "x.jsonl").read_text().splitlines()] == ["n1", "n2"]


def test_older_reports_of_the_same_nodes(run: Run, shared: Path, tmp_path: Path) -> None:
    ran = run("fleet", "merge", str(shared), str(shared), "-o", str(tmp_path / "x.jsonl"))
    assert ran.code == 0
    assert ran.err.splitlines()[1:] == ["gpudoctor: 2 skipped: the node has a newer report."]


def test_what_cannot_be_read_is_named(run: Run, shared: Path, tmp_path: Path) -> None:
    lay(shared, {"n3": b"", "n4": b"", "n\x1b[31m": b"{}"})
    ran = run("fleet", "merge", str(shared), "-o", str(tmp_path / "x.jsonl"))
    assert ran.code == 3
    assert ran.err.splitlines() == [
        f"gpudoctor: {tmp_path}/x.jsonl contains 2 nodes, and a line without a report for 3 more.",
        "gpudoctor: n[3-4] without a report: The file is empty.",
        "gpudoctor: n\\x1b[31m without a report: It has the schema ''; this version reads gpudoctor.report/1.",
    ]


@pytest.mark.parametrize(
    ("paths", "output", "message"),
    [
        (["none"], "x.jsonl", "none cannot be read: No such file or directory."),
        (["empty"], "x.jsonl", "empty contains no report (NODE.json)."),
        (["broken"], "x.jsonl", "No readable report, so nothing was written."),
        (["shared"], "x.json", "x.json: the file name must end in .jsonl or .jsonl.gz."),
        (["shared"], "", "an empty name: the file name must end in .jsonl or .jsonl.gz."),
        (["shared"], "none/x.jsonl", "none/x.jsonl cannot be written: No such file or directory."),
    ],
)
def test_wrong_usage(
    run: Run, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str], output: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    lay(tmp_path / "broken", {"n1": b"{"})
    ran = run("fleet", "merge", *paths, "-o", output)
    assert (ran.code, ran.out, ran.err) == (2, "", f"gpudoctor: {message}\n")
    assert sorted(one.name for one in tmp_path.iterdir() if one.name in ("x.jsonl", "x.json")) == []
