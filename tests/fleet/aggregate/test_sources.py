"""Where reports lie: what is read, what is passed over, and of two reports of a node the newer one."""

import gzip
import json
import os
from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.aggregate import inputs
from gpudoctor.fleet.aggregate.report_sources import SourceError, Sources
from gpudoctor.fleet.aggregate.streaming import summed
from gpudoctor.report.model import Report
from tests.fleet.aggregate.reports import lay, report

OLD, NEW = "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"


def _created(*paths: Path) -> dict[str, str]:
    """The nodes, and when their reports were made."""
    found = [(sent.node, json.loads(sent.data)["created"]) for sent in Sources([str(path) for path in paths])]
    assert len(found) == len(dict(found)), "a node counts once"
    return dict(found)


def _lines(path: Path, *rows: tuple[str, Report]) -> Path:
    lines = [b'{"node":%b,"report":%b}\n' % (json.dumps(node).encode(), msgspec.json.encode(one)) for node, one in rows]
    path.write_bytes((gzip.compress if path.suffix == ".gz" else bytes)(b"".join(lines)))
    return path


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = lay(tmp_path / "shared", {"a": report(), "b": report()})
    for other in (".hidden.json", "notes.txt", "c.json.123.part"):
        (folder / other).write_text("{}")
    (folder / "folder.json").mkdir()
    assert _created(folder) == {"a": NEW, "b": NEW}


def test_the_folder_of_a_run(tmp_path: Path) -> None:
    lay(tmp_path / "reports", {"a": report(), "10.0.0.1%2Fx": report()})
    for name in ("run.json", "summary.json", "ledger.jsonl"):
        (tmp_path / name).write_text("")
    assert _created(tmp_path) == {"a": NEW, "10.0.0.1/x": NEW}
    assert _created(tmp_path / "reports") == {"a": NEW, "10.0.0.1/x": NEW}
    assert Sources([str(tmp_path / "reports")]).ledgers == [str(tmp_path / "ledger.jsonl")]


def test_reports_beside_and_below(tmp_path: Path) -> None:
    lay(tmp_path, {"a": report()})
    lay(tmp_path / "reports", {"b": report()})
    lay(tmp_path / "other", {"c": report()})
    assert _created(tmp_path) == {"a": NEW, "b": NEW}


@pytest.mark.parametrize("name", ["all.jsonl", "all.ndjson", "all.jsonl.gz"])
def test_a_file_of_lines(tmp_path: Path, name: str) -> None:
    assert _created(_lines(tmp_path / name, ("a", report()), ("b c", report(created=OLD)))) == {"a": NEW, "b c": OLD}


def test_one_report(tmp_path: Path) -> None:
    assert _created(lay(tmp_path, {"a.example.org": report()}) / "a.example.org.json") == {"a.example.org": NEW}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_several_reports_the_newest_counts(tmp_path: Path, order: tuple[int, ...]) -> None:
    given = [
        lay(tmp_path / "shared", {"a": report(created=OLD), "b": report(created=NEW)}),
        _lines(tmp_path / "x.jsonl", ("a", report(created=NEW)), ("b", report(created=OLD)), ("c", report())),
        _lines(tmp_path / "y.jsonl", ("c", report(created=OLD)), ("c", report(created=OLD))),
    ]
    assert _created(*(given[at] for at in order)) == {"a": NEW, "b": NEW, "c": NEW}


def test_a_broken_report_never_hides_one_that_can_be_read(tmp_path: Path) -> None:
    first = lay(tmp_path / "1", {"a": report(created=OLD)})
    assert _created(first, lay(tmp_path / "2", {"a": b"{"})) == {"a": OLD}


def test_a_report_of_no_time_is_older_than_any_other(tmp_path: Path) -> None:
    first = lay(tmp_path / "1", {"a": report(created=NEW)})
    assert _created(first, lay(tmp_path / "2", {"a": report(created="yesterday")})) == {"a": NEW}


def test_of_equally_old_ones_the_one_named_last_counts(tmp_path: Path) -> None:
    paths = [lay(tmp_path / str(n), {"a": report(status=status)}) for n, status in enumerate(("pass", "fail"))]
    sources = Sources([str(path) for path in paths])
    assert [json.loads(sent.data)["status"] for sent in sources] == ["fail"]
    assert sources.doubles == 1


@pytest.mark.parametrize(
    ("line", "node", "why"),
    [
        (b"{", "x:2", "The line is not a report of a node."),
        (b"[]", "x:2", "The line is not a report of a node."),
        (b'{"report":{}}', "x:2", "The line is not a report of a node."),
        (b'{"node":"","report":{}}', "x:2", "The line is not a report of a node."),
        (b'{"node":1,"report":{}}', "x:2", "The line is not a report of a node."),
        (b'{"node":"c"}', "c", "The line contains no report."),
        (b"\xff", "x:2", "The line is not a report of a node."),
        (b'{"node":"c","report":"' + b"." * 5000 + b'"}', "x:2", "The line is longer than 0 MiB."),
    ],
)
def test_lines_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, node: str, why: str) -> None:
    monkeypatch.setattr(inputs, "LIMIT", 4000)
    (tmp_path / "x.jsonl").write_bytes(b'{"node":"a","report":{}}\n' + line + b'\n\n{"node":"b","report":{}}')
    found = {sent.node: sent.why for sent in Sources([str(tmp_path / "x.jsonl")])}
    assert found == {"a": "", node: why, "b": ""}


def test_a_line_as_merge_writes_it_that_was_cut_short(tmp_path: Path) -> None:
    path = _lines(tmp_path / "x.jsonl", ("a", report()), ("b", report()))
    path.write_bytes(path.read_bytes()[:-40])
    assert [(sent.node, bool(sent.data)) for sent in Sources([str(path)])] == [("a", True), ("b", False)]
    found = summed(Sources([str(path)]))
    assert found.states == {"unreadable": "b", "pass": "a"}
    assert [one.why for one in found.missing] == ["It is not a report: Input data was truncated."]


def test_a_packed_file_that_was_cut_short(tmp_path: Path) -> None:
    path = _lines(
        tmp_path / "x.jsonl.gz", *((f"n{at}", report(created=f"{at:09d}{os.urandom(40).hex()}")) for at in range(2000))
    )
    path.write_bytes(path.read_bytes()[:-30_000])
    sent = list(Sources([str(path)]))
    assert len(sent) > 100
    assert [one.why for one in sent if one.why] == ["The file is truncated or damaged from here on."]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LIMIT", 4000)
    lay(tmp_path, {"empty": b"", "large": b"x" * 5000, "well": b"{}"})
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zeros.json").symlink_to("/dev/zero")
    (tmp_path / "round.json").symlink_to("round.json")
    assert {sent.node: sent.why for sent in Sources([str(tmp_path)])} == {
        "empty": "The file is empty.",
        "large": "The file is larger than 0 MiB.",
        "well": "",
        "gone": "The file cannot be read: No such file or directory.",
        "pipe": "It is a pipe or a device, not a file.",
        "zeros": "It is a pipe or a device, not a file.",
        "round": "The file cannot be read: Too many levels of symbolic links.",
    }


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_report_as_powershell_redirects_it(tmp_path: Path, coding: str) -> None:
    text = msgspec.json.encode(report()).decode()
    mark = b"\xfe\xff" if coding == "utf-16-be" else b""
    lay(tmp_path, {"a": mark + text.encode(coding), "b": b"\xff\xfex"})
    found = {sent.node: sent.data for sent in Sources([str(tmp_path)])}
    assert found == {"a": text.encode(), "b": b"\xff\xfex"}
    assert summed(Sources([str(tmp_path)])).states == {"unreadable": "b", "pass": "a"}


def test_a_file_larger_than_one_read(tmp_path: Path) -> None:
    data = b'{"x":"' + b"." * 300_000 + b'"}'
    assert [sent.data for sent in Sources([str(lay(tmp_path, {"a": data}))])] == [data]


def test_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    Path(os.fsdecode(bytes(tmp_path) + b"/n\xff.json")).write_bytes(b"{}")
    assert [sent.node for sent in Sources([str(tmp_path)])] == ["n\\xff"]


def test_nothing_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, words in (
        (tmp_path / "none", "cannot be read: No such file or directory"),
        (tmp_path / "empty", "contains no report"),
        (Path("/dev/null"), "is neither a directory nor a file"),
    ):
        with pytest.raises(SourceError, match=words):
            Sources([str(path)])


def test_a_run_whose_nodes_all_stayed_silent_is_something(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").write_text("")
    assert list(Sources([str(tmp_path)])) == []


def test_in_order(tmp_path: Path) -> None:
    lay(tmp_path, dict.fromkeys("badc", b"{}"))
    assert [sent.node for sent in Sources([str(tmp_path)], ordered=True)] == ["a", "b", "c", "d"]


def test_the_report_of_one_node(tmp_path: Path) -> None:
    lay(tmp_path / "1", {"a": report(created=OLD), "b": report()})
    lines = _lines(tmp_path / "x.jsonl", ("a", report(created=NEW)), ("c", report()))
    sources = Sources([str(tmp_path / "1"), str(lines)])
    found = sources.of("a")
    assert found is not None
    assert json.loads(found.data)["created"] == NEW
    assert sources.of("z") is None


def test_a_directory_of_racks(tmp_path: Path) -> None:
    lay(tmp_path / "2026-11-23/r1", {"n1": report(), "n2": report()})
    lay(tmp_path / "2026-11-23/r2", {"n3": report()})
    (tmp_path / "2026-11-23/.hidden").mkdir()
    found = Sources([str(tmp_path / "2026-11-23")])
    assert sorted(found.names()) == ["n1", "n2", "n3"]
    with pytest.raises(SourceError, match="contains no report"):
        Sources([str(tmp_path)])
