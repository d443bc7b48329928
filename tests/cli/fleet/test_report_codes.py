"""`gpudoctor fleet report`: its exit code, nodes of which there is nothing, and Parquet without its usual library."""

import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.cli.conftest import Run
from tests.cli.fleet.test_report import healthy, lay, report


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return lay(tmp_path / "reports", **healthy(n10=report("fail", "570.1")))


def test_drift_and_warnings_fail_where_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    same = lay(tmp_path / "same", **healthy())
    path = lay(tmp_path / "drift", **healthy(n9=report(driver="570.1")))
    codes = {how: run("fleet", "report", path, "--fail-on", how).code for how in ("fail", "warn", "drift", "never")}
    assert codes == {"fail": 0, "warn": 0, "drift": 1, "never": 0}
    assert run("fleet", "report", same, "--fail-on", "drift").code == 0
    bad = lay(tmp_path / "bad", **healthy(n9=report("fail")))
    assert run("fleet", "report", bad, "--fail-on", "never").code == 0


def test_a_chosen_node_of_which_there_is_nothing_is_no_pass(run: Run, folder: str) -> None:
    ran = run("fleet", "report", folder, "--nodes", "n[1-2],x[1-3]")
    assert (ran.code, ran.err) == (3, "")
    assert ran.out.startswith("INCOMPLETE  2 of 5 nodes are healthy; 3 were not checked.")
    assert "There is no report of it, and no run asked it. Is the name right?\n         3  x[1-3]\n" in ran.out


def test_parquet_is_written_without_pyarrow(
    run: Run, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pyarrow", None)
        assert run("fleet", "report", folder, "--format", "parquet", "--output", str(path)).code == 1
    assert pyarrow.parquet.read_table(path).num_rows == 10


def test_exit_code_1_names_its_reason_where_the_verdict_does_not(run: Run, tmp_path: Path) -> None:
    path = lay(tmp_path / "drift", **healthy(n9=report(driver="570.1")))
    ran = run("fleet", "report", path, "--fail-on", "drift")
    assert ran.err == "gpudoctor: Exit code 1 (--fail-on drift): configuration drift in 1 fact.\n"
    warned = run("fleet", "report", lay(tmp_path / "warn", **healthy(n9=report("warn"))), "--fail-on", "warn")
    assert warned.code == (1 if "WARN " in warned.out.partition("Causes")[2] else 0)


def test_old_reports_with_a_limit_are_no_pass(run: Run, tmp_path: Path) -> None:
    path = lay(tmp_path / "old", **healthy())
    ran = run("fleet", "report", path, "--max-age", "1s")
    assert (ran.code, ran.out.partition(" ")[0]) == (3, "INCOMPLETE")
    assert "older than 1 second (--max-age)" in " ".join(ran.out.split())
    assert run("fleet", "report", path, "--max-age", "500w").code == 0
    wrong = run("fleet", "report", path, "--max-age", "soon")
    assert (wrong.code, wrong.err) == (
        2, "gpudoctor: --max-age takes a number and a unit, such as 90m, 36h or 2d, not soon.\n",
    )  # fmt: skip
