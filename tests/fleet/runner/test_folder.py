"""The folder of a run is its own, belongs to one run at a time, and knows who is still to be asked."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.fleet.runner import run_directory as folders
from gpudoctor.fleet.runner.ledger import LedgerError
from gpudoctor.fleet.runner.report_store import land
from gpudoctor.fleet.runner.run_directory import FolderError, Run, RunDirectory
from tests.apart import limited, unlimited
from tests.fleet.runner.kit import opened, report, targets


def names(found: object) -> list[str]:
    assert isinstance(found, list)
    return [one.node for one in found]


def test_a_new_folder_says_what_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run"
    run = Run(engine="ssh", nodes="a[1-2]", command=("gpudoctor",), options={"--user": ("me",)}, seconds=9.0, fan=3)
    RunDirectory(str(path), run).close()
    document = json.loads((path / "run.json").read_text())
    assert document["schema"] == "gpudoctor.fleet-run/1"
    assert document["options"] == {"--user": ["me"]}
    found = folders.read(str(path))
    assert found is not None
    assert (found.engine, found.nodes, found.command, len(found.started)) == ("ssh", "a[1-2]", ("gpudoctor",), 1)
    assert folders.read(str(tmp_path)) is None


def test_a_run_goes_on_with_those_that_have_not_reported(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    land(folder.reports, "b", report())
    folder.ledger.note("b", "reported")
    folder.ledger.note("c", "timed out")
    folder.close()
    folder = opened(tmp_path)
    assert len(folder.run.started) == 2
    assert names(folder.waiting(targets("a", "b", "c", "c"))) == ["a", "c"]
    folder.close()


def test_a_report_that_the_ledger_has_not_heard_of_is_noted(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    land(folder.reports, "a", report())
    folder.ledger.note("b", "reported")  # and its report is gone
    assert names(folder.waiting(targets("a", "b"))) == ["b"]
    assert folder.ledger.entries["a"].state == "reported"
    folder.close()


def test_a_broken_report_is_asked_for_again(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    (tmp_path / "reports" / "a.json").write_text("{")
    assert names(folder.waiting(targets("a", "n" * 300))) == ["a", "n" * 300]
    assert (tmp_path / "earlier" / "a.json").read_text() == "{"
    assert list((tmp_path / "reports").iterdir()) == []
    folder.close()


def test_again_asks_all_and_loses_nothing(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    land(folder.reports, "a/1", report("warn"))
    assert names(folder.waiting(targets("a/1", "b"), again=True)) == ["a/1", "b"]
    assert (tmp_path / "earlier" / "a%2F1.json").read_bytes() == report("warn")
    assert list((tmp_path / "reports").iterdir()) == []
    folder.close()


def test_parts_that_a_killed_run_left_are_taken_away(tmp_path: Path) -> None:
    (tmp_path / "run.json.123.part").write_text("{")  # it was killed before it had a run.json
    opened(tmp_path).close()
    (tmp_path / "reports" / "a.json.123.part").write_text("{")
    opened(tmp_path).close()
    assert list((tmp_path / "reports").iterdir()) == []
    assert not list(tmp_path.glob("*.part"))


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    first = opened(tmp_path)
    with pytest.raises(FolderError, match=rf"^Another run is writing to {tmp_path}\.$"):
        opened(tmp_path)
    first.close()
    opened(tmp_path).close()


def test_a_run_that_was_killed_holds_nobody_up(tmp_path: Path) -> None:
    code = (
        "import os, signal; from gpudoctor.fleet.runner.run_directory import RunDirectory, Run\n"
        f"RunDirectory({str(tmp_path)!r}, Run(engine='x')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == -9
    opened(tmp_path).close()


def test_folders_of_something_else_are_refused_and_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("all of it")
    with pytest.raises(
        FolderError, match=r"contains other files, such as thesis\.tex: choose a new directory, or that"
    ):
        opened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not belong to a fleet run: choose another directory."),
        ("{}", "does not belong to a fleet run: choose another directory."),
        ('{"x":' + "[" * 100_000, "does not belong to a fleet run: choose another directory."),
        ('{"engine":"x","schema":"acme/1"}', "has the schema 'acme/1'; this version reads gpudoctor.fleet-run/1."),
    ],
)
def test_a_run_json_of_somebody_else(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "run.json").write_text(text)
    for _ in range(2):  # the lock was given back
        with pytest.raises(FolderError) as caught:
            opened(tmp_path)
        assert str(caught.value) == f"{tmp_path}/run.json {words}"
    assert (tmp_path / "run.json").read_text() == text


def test_places_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        with pytest.raises(FolderError, match=r"cannot be used: .+\.$"):
            opened(path)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "lock").symlink_to(tmp_path / "file")
    with pytest.raises(FolderError, match=r"cannot be used: .+\.$"):
        opened(tmp_path / "linked")


def test_a_broken_ledger_is_told_and_the_lock_given_back(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "ledger.jsonl").write_text("nonsense\n")
    for _ in range(2):
        with pytest.raises(LedgerError, match="is not a ledger"):
            opened(tmp_path)


@limited(resource.RLIMIT_FSIZE, 20)
def test_a_full_disk_is_told_and_the_lock_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(FolderError, match=r" cannot be written: .+\.$"):
            opened(tmp_path / "run")
    assert not list((tmp_path / "run").glob("run.json*"))
    unlimited(resource.RLIMIT_FSIZE)
    opened(tmp_path / "run").close()  # what is left is no folder of something else


def test_reports_that_cannot_be_put_aside_are_kept(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    land(folder.reports, "a", report())
    (tmp_path / "earlier").write_text("")
    with pytest.raises(FolderError, match=rf"^{tmp_path}/earlier cannot be written: File exists\.$"):
        folder.waiting(targets("a"), again=True)
    assert (tmp_path / "reports" / "a.json").read_bytes() == report()
    folder.close()
