"""Fleets that lie in folders and files: how the application reads them, and finds the report of one node."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from gpudoctor.fleet.runner.ledger import Ledger
from gpudoctor.fleet.runner.report_store import file_name, land
from gpudoctor.fleet.summary_store import keep
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.fleet.reading import Read, read, report
from gpudoctor.tui.session import SessionSource
from tests.fleet.aggregate.reports import finding, lay, named
from tests.fleet.aggregate.reports import report as made
from tests.tui.screens import run, settled, text_of

ILL = made(status="warn", findings=[finding()], created="2026-11-21T00:00:05Z")
REPORTS = named([made(), made(), ILL, made()])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run: four nodes have reported, and one has not."""
    lay(tmp_path / "run" / "reports", REPORTS)
    ledger = Ledger(str(tmp_path / "run" / "ledger.jsonl"))
    for node in REPORTS:
        ledger.note(node, "reported")
    ledger.note("n5", "unreachable", "No route to host.")
    ledger.close()
    return tmp_path / "run"


def whole(*paths: Path) -> Read:
    found = read([str(path) for path in paths], lambda _: None)
    assert isinstance(found, Read)
    return found


def test_a_run_is_read_with_its_ledger(folder: Path) -> None:
    found = whole(folder)
    assert found.nodes.names == ("n1", "n2", "n3", "n4", "n5")
    assert found.nodes.states == ("pass", "pass", "warn", "pass", "unreachable")
    assert [entry.label for entry in found.entries] == ["WARN", "U"]
    assert found.note == ""


def test_a_summary_is_shown_as_it_is(folder: Path, tmp_path: Path) -> None:
    first = whole(folder).fleet
    path = tmp_path / "summary.json"
    path.write_bytes(msgspec.json.encode(first))
    assert whole(path).fleet == first


def test_what_changed_since_the_last_summary_is_told_and_nothing_is_written(folder: Path) -> None:
    keep(str(folder), whole(folder).fleet)
    before = (folder / "summary.json").read_bytes()
    lay(
        folder / "reports",
        {"n1": made(status="fail", findings=[finding(status="fail")], created="2026-11-22T00:00:00Z")},
    )
    found = whole(folder)
    assert any(entry.group == "Changes" and "n1" in entry.below for entry in found.entries)
    assert (folder / "summary.json").read_bytes() == before


def test_a_last_summary_that_is_broken_hides_nothing(folder: Path) -> None:
    (folder / "summary.json").write_text("{")
    found = whole(folder)
    assert found.note.endswith("No comparison with it is shown.")
    assert len(found.nodes.names) == 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "none", "cannot be read: No such file or directory."),
        (lambda path: path, "contains no report"),
        (lambda _: Path("/dev/null"), "is neither a directory nor a file."),
    ],
)
def test_what_holds_no_report_is_one_sentence(make: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    assert message in str(read([str(make(tmp_path))], lambda _: None))


def test_it_is_read_without_the_library_for_node_sets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("ClusterShell")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ClusterShell", None)
    assert whole(folder).nodes.folded([0, 1, 2]) == "n[1-3]"


# -- the report of one node ------------------------------------------------------------------------------


def test_a_node_s_report_is_found_in_a_run_in_a_folder_and_in_a_file(folder: Path, tmp_path: Path) -> None:
    lines = tmp_path / "all.jsonl"
    lines.write_bytes(
        b"".join(b'{"node":"%s","report":%s}\n' % (n.encode(), msgspec.json.encode(r)) for n, r in REPORTS.items())
    )
    for path in (folder, folder / "reports", lines, folder / "reports" / "n3.json"):
        found = report([str(path)], "n3")
        assert isinstance(found, tuple)
        assert found[1].findings == ILL.findings


@pytest.mark.parametrize("node", ["rack a", "gpu[1-2]", "²", ".hidden"])
def test_the_report_of_a_node_with_a_strange_name_is_found(node: str, folder: Path) -> None:
    land(str(folder / "reports"), node, msgspec.json.encode(ILL))
    found = report([str(folder)], node)
    assert found[0] == str(folder / "reports" / file_name(node))
    assert node in whole(folder).nodes.names


def test_a_name_that_looks_like_a_secret_is_a_name_all_the_same(folder: Path) -> None:
    land(str(folder / "reports"), "ghp_0123456789abcdefghijABCDEFGHIJ0123456", msgspec.json.encode(ILL))
    assert "ghp_0123456789abcdefghijABCDEFGHIJ0123456" in whole(folder).nodes.names


def test_of_two_reports_the_newest_is_shown(tmp_path: Path) -> None:
    lay(tmp_path / "old", {"n1": made(created="2026-11-20T00:00:00Z")})
    lay(tmp_path / "new", {"n1": made(created="2026-11-21T00:00:00Z")})
    for order in (("old", "new"), ("new", "old")):
        found = report([str(tmp_path / name) for name in order], "n1")
        assert found[0] == str(tmp_path / "new" / "n1.json")


@pytest.mark.parametrize("node", ["n9", "../reports/n1", "n1\0", ""])
def test_a_node_without_a_report_is_one_sentence(node: str, folder: Path) -> None:
    assert str(report([str(folder)], node)).startswith("There is no report of")


def test_a_report_that_is_none_is_one_sentence(folder: Path) -> None:
    (folder / "reports" / "n1.json").write_text("")
    assert report([str(folder)], "n1") == "The file is empty."
    (folder / "reports" / "n1.json").write_text('{"schema": "gpudoctor.report/1", "gpus": 3}')
    assert "is not valid" in str(report([str(folder)], "n1"))


def test_the_application_opens_a_real_run(folder: Path) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: "5 nodes   U 1 unreachable   W 1 warn   · 3 pass" in "\n".join(text_of(pilot.app)))
        await pilot.press("n", "enter")
        await settled(pilot, lambda: "n3  WARN" in text_of(pilot.app)[0])

    run(lambda: Doctor(SessionSource(), fleet=(str(folder),)), look)
