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
