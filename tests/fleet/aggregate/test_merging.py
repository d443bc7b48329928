"""Many reports as one file: whole or not at all, each node once, what cannot be read left out."""

import gzip
import json
from pathlib import Path

import pytest

from gpudoctor.fleet.aggregate.inputs import Sent
from gpudoctor.fleet.aggregate.merge import merge
from gpudoctor.fleet.aggregate.report_sources import SourceError, Sources
from gpudoctor.fleet.aggregate.summarize import together
from gpudoctor.report.renderers.json import render
from tests.fleet.aggregate.reports import lay, report


def _rows(path: Path) -> list[tuple[str, str]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [json.loads(line) for line in data.splitlines()]
    return [(row["node"], row["report"]["status"] if "report" in row else row["state"]) for row in rows]


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_line_a_node_in_order(tmp_path: Path, name: str) -> None:
    folder = lay(tmp_path / "shared", {"b": report(), "a": render(report(status="warn")).encode(), "c": b"{"})
    merged = merge(Sources([str(folder)], ordered=True), str(tmp_path / name))
    assert _rows(tmp_path / name) == [("a", "warn"), ("b", "pass"), ("c", "unreadable")]
    assert (merged.nodes, merged.doubles) == (2, 0)
    assert [(one.state, one.nodes) for one in merged.left_out] == [("unreadable", "c")]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["shared", name]


def test_a_file_can_be_merged_into_itself(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    merge(Sources([str(lay(tmp_path / "1", {"a": report(created="2026-01"), "b": report()}))]), str(path))
    newer = lay(tmp_path / "2", {"a": report(created="2026-02", status="fail")})
    merged = merge(Sources([str(path), str(newer)]), str(path))
    assert sorted(_rows(path)) == [("a", "fail"), ("b", "pass")]
    assert (merged.nodes, merged.doubles) == (2, 1)


def test_nodes_of_the_ledger_that_did_not_report(tmp_path: Path) -> None:
    lay(tmp_path / "reports", {"a": report()})
    (tmp_path / "ledger.jsonl").write_text('{"node":"b","state":"refused","why":"No key."}\n')
    merged = merge(Sources([str(tmp_path)]), str(tmp_path / "x.jsonl"))
    assert [(one.state, one.why, one.nodes) for one in merged.left_out] == [("refused", "No key.", "b")]
    fleet = together([str(tmp_path / "x.jsonl")])  # the archive knows that they exist, and why there is no report
    assert [(one.state, one.why, one.nodes) for one in fleet.missing] == [("refused", "No key.", "b")]
    again = merge(Sources([str(tmp_path / "x.jsonl")]), str(tmp_path / "y.jsonl"))
    assert (tmp_path / "x.jsonl").read_bytes() == (tmp_path / "y.jsonl").read_bytes()
    assert again.left_out == merged.left_out


def test_bytes_that_are_no_utf_8_are_no_report(tmp_path: Path) -> None:
    data = render(report()).encode().replace(b"Acme", b"Ac\xffe")
    merged = merge(Sources([str(lay(tmp_path / "1", {"a": data, "b": report()}))]), str(tmp_path / "x.jsonl"))
    assert _rows(tmp_path / "x.jsonl") == [("b", "pass"), ("a", "unreadable")]
    assert [one.nodes for one in merged.left_out] == ["a"]


def test_nothing_is_left_behind_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("before")
    folder = lay(tmp_path / "1", {"a": b"{"})
    with pytest.raises(SourceError, match="No readable report"):
        merge(Sources([str(folder)]), str(path))

    def full(sent: Sent) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gpudoctor.fleet.aggregate.merge.line", full)
    with pytest.raises(OSError, match="No space left"):
        merge(Sources([str(folder)]), str(path))
    assert path.read_text() == "before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["1", "x.jsonl"]
