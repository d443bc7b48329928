"""`gpudoctor fleet report`: what is read, how it is written, what it is compared with, and each exit code."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet
import pytest

from gpudoctor.cli.fleet import output_options
from gpudoctor.fleet.renderers.formats import FORMATS
from gpudoctor.fleet.runner.ledger import Ledger
from gpudoctor.report.inventory import Inventory, Scalar
from gpudoctor.report.model import FindingEntry, GpuEntry, Report
from tests.cli import BARE, gpudoctor, shell
from tests.cli.conftest import Run

NAME = "NVIDIA H100 80GB HBM3"
FINDING = FindingEntry(
    check="driver.not-loaded",
    status="fail",
    subject="the driver",
    title="The driver is not loaded",
    message="No module is loaded; see /home/anna/notes.",
    cause="It was not built.",
)


def report(
    status: str = "pass", driver: str = "580.95.05", created: str = "2026-11-21T03:00:00Z", **more: Any
) -> Report:
    gpu: dict[str, Scalar] = {"name": NAME, "vbios": "96.00.61.00.01"}
    return Report(
        version="0.1.0",
        status=status,
        created=created,
        gpus=(GpuEntry(index=0, vendor="nvidia", name=NAME),),
        findings=(FINDING,) if status == "fail" else (),
        inventory=Inventory(machine={"gpus": 1, "nvidia.kernel.loaded": driver}, gpus=(gpu,)),
        **more,
    )


def lay(folder: Path, **reports: Report) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for node, one in reports.items():
        (folder / f"{node}.json").write_bytes(msgspec.json.encode(one))
    return str(folder)


def healthy(**more: Report) -> dict[str, Report]:
    return {f"n{number}": report() for number in range(1, 10)} | more


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Nine nodes are healthy; n10 has no driver."""
    return lay(tmp_path / "reports", **healthy(n10=report("fail", "570.1")))


def run_folder(path: Path, reports: dict[str, Report], **states: str) -> str:
    """The folder of a run: what was asked does not matter here."""
    lay(path / "reports", **reports)
    ledger = Ledger(str(path / "ledger.jsonl"))
    for node in reports:
        ledger.note(node, "reported")
    for node, state in states.items():
        ledger.note(node, state, f"why {node}")
    ledger.close()
    return str(path)


# -- exit codes ----------------------------------------------------------------------------------------------


def test_every_node_is_well(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "report", lay(tmp_path / "r", **healthy()))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("PASS  All 9 nodes are healthy.\n")


def test_one_that_fails_gives_1(run: Run, folder: str) -> None:
    ran = run("fleet", "report", folder)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("FAIL  9 of 10 nodes are healthy; 1 fails.\n")
    assert "  FAIL         1  n10: The driver is not loaded (driver.not-loaded)\n" in ran.out
    assert "driver (loaded): 580.95.05 on 9 of 10" in ran.out


def test_the_details_of_one_cause(run: Run, folder: str) -> None:
    ran = run("fleet", "report", folder, "--cause", "driver.not-loaded")
    assert ran.code == 1
    assert "FAIL      The driver is not loaded (1 node)\n          n10\n" in ran.out
    assert "Configuration drift" not in ran.out
    wrong = run("fleet", "report", folder, "--cause", "driver.lost")
    assert (wrong.code, wrong.sentence) == (2, "No cause driver.lost here: driver.not-loaded.")
    both = run("fleet", "report", folder, "--cause", "driver.not-loaded", "--json")
    assert "--cause cannot be used with --format json" in both.sentence


def test_warnings_are_no_failure(run: Run, tmp_path: Path) -> None:
    assert run("fleet", "report", lay(tmp_path / "r", **healthy(n1=report("warn")))).code == 0


def test_nodes_without_a_report_give_3(run: Run, tmp_path: Path) -> None:
    ran = run("fleet", "report", run_folder(tmp_path / "run", healthy(), n10="unreachable", n11="timed out"))
    assert ran.code == 3
    reported = "INCOMPLETE 9 of 11 nodes are healthy; 1 timed out, 1 is unreachable."
    assert " ".join(ran.out.split()).startswith(reported)
    assert "unreachable: why n10" in ran.out
    failed = run_folder(tmp_path / "other", healthy(n1=report("fail")), n10="refused")
    assert run("fleet", "report", failed).code == 1  # what is known to be ill is worse


def test_a_file_that_cannot_be_read_gives_3_and_hides_no_other(run: Run, tmp_path: Path) -> None:
    path = lay(tmp_path / "r", **healthy())
    (tmp_path / "r" / "n10.json").write_text("{")
    ran = run("fleet", "report", path)
    assert ran.code == 3
    assert "9 of 10 nodes are healthy; 1 sent an unreadable report" in " ".join(ran.out.split())


def test_wrong_usage_is_one_sentence(folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, message in (
        (["no/such"], "no/such cannot be read: No such file or directory."),
        ([str(tmp_path / "empty")], "contains no report"),
        ([folder, "--json", "--format", "csv"], "cannot be used together"),
        ([folder, "--output", ""], "--output needs a file name"),
        ([folder, "--output", "no/such/file"], "no/such/file cannot be written: No such file or directory."),
        ([folder, "--format", "xml"], "Unknown --format value"),
        ([folder, "--nodes", "n[1-"], "is not a node set"),
        ([folder, "--nodes", ""], "--nodes needs a node set"),
        ([folder, "--nodes", "x[1-3]"], "No reports of the nodes x[1-3]; there are n[1-10]."),
        ([folder, "--since", "no/such"], "no/such cannot be read"),
        ([folder, "--expect", "no/such.toml"], "no/such.toml cannot be read"),
    ):
        assert message in gpudoctor("fleet", "report", *arguments, cwd=tmp_path).sentence


# -- formats -------------------------------------------------------------------------------------------------


def test_json(run: Run, folder: str) -> None:
    ran = run("fleet", "report", folder, "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["schema"], document["total"]) == (1, "gpudoctor.fleet/1", 10)
    assert document["states"] == {"fail": "n10", "pass": "n[1-9]"}
    assert document["groups"][0]["facts"]["nvidia.kernel.loaded"] == "580.95.05"


def test_csv_and_prometheus(run: Run, folder: str) -> None:
    rows = list(csv.DictReader(io.StringIO(run("fleet", "report", folder, "--format", "csv").out)))
    assert [row["node"] for row in rows] == [f"n{number}" for number in range(1, 11)]
    assert (rows[9]["state"], rows[9]["causes"]) == ("fail", "driver.not-loaded")
    assert 'gpudoctor_fleet_nodes{state="pass"} 9.0\n' in run("fleet", "report", folder, "--format", "prometheus").out


def test_parquet_goes_into_a_file_or_a_pipe_and_on_no_terminal(folder: str, tmp_path: Path) -> None:
    assert gpudoctor("fleet", "report", folder, "--format", "parquet", "-o", "t.parquet", cwd=tmp_path).code == 1
    assert pyarrow.parquet.read_table(tmp_path / "t.parquet").num_rows == 10
    ran = shell(f"gpudoctor fleet report {folder} --format parquet | head -c 4; echo; gpudoctor fleet report {folder}")
    assert ran.out.startswith("PAR1\n")
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "gpudoctor", "fleet", "report", folder, "--format", "parquet"]
    ended = subprocess.run(argv, stdout=theirs, stderr=subprocess.PIPE, text=True, env=BARE, timeout=60)
    os.close(theirs)
    os.close(ours)
    assert ended.returncode == 2
    assert ended.stderr == ("gpudoctor: Parquet is binary: write it to a file with --output, or to a pipe.\n")


def test_a_file_is_written_whole_or_not_at_all(run: Run, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    ran = run("fleet", "report", folder, "--format", "html", "--output", str(path))
    assert (ran.code, ran.out) == (1, "")
    assert path.read_text().startswith("<!DOCTYPE html>")
    before = sorted(os.listdir(tmp_path))
    assert before == ["page.html", "reports"]
    assert "cannot be written" in run("fleet", "report", folder, "-o", "/dev/full").sentence
    assert run("fleet", "report", folder, "--output", "-").out == run("fleet", "report", folder).out


def test_as_wide_as_the_terminal_and_in_its_colours(folder: str) -> None:
    narrow = gpudoctor("fleet", "report", folder, env={"COLUMNS": "60"}).out
    assert max(map(len, narrow.splitlines())) <= 60
    assert "\x1b[" in gpudoctor("fleet", "report", folder, env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" not in gpudoctor("fleet", "report", folder, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out


@pytest.mark.parametrize(
    ("arguments", "person", "node"),
    [
        (["--format", "text", "--all"], True, True),
        (["--format", "json"], True, True),
        (["--format", "html"], False, True),
        (["--format", "html", "--no-mask"], True, True),
        (["--format", "html", "--mask"], False, False),
        (["--format", "text", "--all", "--mask"], False, False),
    ],
)
def test_who_is_named_where(run: Run, tmp_path: Path, arguments: list[str], person: bool, node: bool) -> None:
    path = lay(tmp_path / "r", goose=report("fail"), swan=report())
    reported = run("fleet", "report", path, *arguments).out
    assert ("/home/anna" in reported) is person
    assert ("goose" in reported) is node
    assert "driver.not-loaded" in reported


def test_a_secret_is_in_no_format(run: Run, tmp_path: Path) -> None:
    secret = "hf_abcdefghijklmnop"
    finding = msgspec.structs.replace(FINDING, message=f"It used {secret}.", title=secret)
    ill = msgspec.structs.replace(report("fail"), findings=(finding,))
    path = lay(tmp_path / "r", n1=ill)
    for name in ("text", "json", "html", "csv", "prometheus"):
        assert secret not in run("fleet", "report", path, "--format", name, "--no-mask").out


def test_the_names_are_those_of_the_formats() -> None:
    assert tuple(FORMATS) == output_options.NAMES


def test_how_far_the_reading_is_stands_on_a_terminal_only(run: Run, tmp_path: Path) -> None:
    path = lay(tmp_path / "r", **{f"n{number}": report() for number in range(300)})
    assert run("fleet", "report", path).err == ""
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "gpudoctor", "fleet", "report", path]
    ended = subprocess.run(argv, stdout=subprocess.PIPE, stderr=theirs, text=True, env=BARE, timeout=60)
    os.close(theirs)
    reported = os.read(ours, 4096).decode()
    os.close(ours)
    assert ended.returncode == 0
    assert reported == "\r\x1b[K256 reports read ...\r\x1b[K"


# -- which nodes ---------------------------------------------------------------------------------------------


def test_only_some_nodes(run: Run, tmp_path: Path) -> None:
    path = run_folder(tmp_path / "run", healthy(n10=report("fail")), n11="refused", n12="unreachable")
    ran = run("fleet", "report", path, "--nodes", "n[1-3]", "--json")
    assert (ran.code, json.loads(ran.out)["states"]) == (0, {"pass": "n[1-3]"})
    ran = run("fleet", "report", path, "--nodes", "n[9,11]", "--json")
    assert (ran.code, json.loads(ran.out)["states"]) == (3, {"refused": "n11", "pass": "n9"})


def test_several_sources_and_a_node_twice(run: Run, tmp_path: Path) -> None:
    old = lay(tmp_path / "old", n1=report("fail", created="2026-11-20T03:00:00Z"), n2=report())
    new = lay(tmp_path / "new", n1=report())
    document = json.loads(run("fleet", "report", old, f"{new}/n1.json", "--json").out)
    assert (document["total"], document["states"]) == (2, {"pass": "n[1-2]"})


# -- history -------------------------------------------------------------------------------------------------


def later(reports: dict[str, Report]) -> dict[str, Report]:
    return {node: msgspec.structs.replace(one, created="2026-11-22T03:00:00Z") for node, one in reports.items()}


def test_the_folder_of_a_run_remembers(run: Run, tmp_path: Path) -> None:
    path = run_folder(tmp_path / "run", healthy())
    first = run("fleet", "report", path)
    assert "Since" not in first.out
    lay(tmp_path / "run" / "reports", **later(healthy(n9=report("fail"))))
    second = run("fleet", "report", path)
    assert "Since 2026-11-21 03:00:00 UTC: 1 node worse\n  - pass before, fail now\n         1  n9\n" in second.out
    assert run("fleet", "report", path).out == second.out  # the same reports say the same again
    for some in (["--nodes", "n[1-3]"], ["--expect", _expect(tmp_path, 'is = "580.95.05"')]):
        assert "Since" not in run("fleet", "report", path, *some).out
    assert "- pass before, fail now" in run("fleet", "report", path).out
    assert sorted(os.listdir(path)) == ["ledger.jsonl", "reports", "summary.json"]


def test_a_folder_of_reports_is_left_as_it_is(run: Run, folder: str) -> None:
    run("fleet", "report", folder)
    assert "summary.json" not in os.listdir(folder)


def test_a_summary_that_is_broken_is_told_and_kept(run: Run, tmp_path: Path) -> None:
    path = run_folder(tmp_path / "run", healthy())
    (tmp_path / "run" / "summary.json").write_text("{")
    ran = run("fleet", "report", path)
    assert ran.code == 0
    assert ran.err.count("\n") == 1
    assert "summary.json is not a fleet summary" in ran.err
    assert (tmp_path / "run" / "summary.json").read_text() == "{"


def test_since_an_older_summary_a_folder_or_a_run(run: Run, tmp_path: Path) -> None:
    old = lay(tmp_path / "old", **healthy())
    now = lay(tmp_path / "now", **later(healthy(n9=report("fail"))))
    summary = str(tmp_path / "monday.json")
    run("fleet", "report", old, "--json", "--output", summary)
    kept = run_folder(tmp_path / "run", healthy())
    run("fleet", "report", kept)
    for since in (old, summary, kept):
        ran = run("fleet", "report", now, "--since", since)
        assert ran.code == 1
        assert "- pass before, fail now\n         1  n9\n" in ran.out
    narrowed = run("fleet", "report", now, "--since", old, "--nodes", "n[1-3]")
    assert (
        "Since 2026-11-21 03:00:00 UTC\n  No changes: the same states, causes, majority values and medians.\n"
        in narrowed.out
    )


def test_an_update_of_the_driver_is_told_with_its_nodes(run: Run, tmp_path: Path) -> None:
    old = lay(tmp_path / "old", **{f"n{number}": report(driver="570.1") for number in range(1, 10)})
    now = lay(tmp_path / "now", **later(healthy()))
    assert (
        "driver (loaded): 570.1 before, 580.95.05 now\n         9  n[1-9]\n"
        in run("fleet", "report", now, "--since", old).out
    )


def test_a_summary_can_be_shown_again(run: Run, folder: str, tmp_path: Path) -> None:
    path = str(tmp_path / "today.json")
    run("fleet", "report", folder, "--json", "--output", path)
    assert run("fleet", "report", path).out == run("fleet", "report", folder).out
    assert (
        "--expect needs the reports themselves"
        in run("fleet", "report", path, "--expect", _expect(tmp_path, "present = true")).sentence
    )
    assert "--nodes needs the reports themselves" in run("fleet", "report", path, "--nodes", "n1").sentence


# -- expectations --------------------------------------------------------------------------------------------


def _expect(folder: Path, operator: str, path: str = "nvidia.kernel.loaded") -> str:
    file = folder / "site.toml"
    file.write_text(f'[expect."{path}"]\n{operator}\n')
    return str(file)


def test_expectations_are_held(run: Run, tmp_path: Path) -> None:
    path = lay(tmp_path / "r", **healthy(n10=report(driver="570.1")))
    assert run("fleet", "report", path).code == 0
    assert run("fleet", "report", path, "--expect", _expect(tmp_path, 'version = ">=570"')).code == 0
    ran = run("fleet", "report", path, "--expect", _expect(tmp_path, 'is = "580.95.05"'))
    assert ran.code == 1
    assert '  FAIL         1  n10: nvidia.kernel.loaded: expected "580.95.05"' in ran.out
    assert "gpudoctor explain" not in ran.out  # which knows nothing of what a file expects
    advice = _expect(tmp_path, 'is = "580.95.05"\nseverity = "advice"')
    assert run("fleet", "report", path, "--expect", advice).code == 0


def test_what_reports_do_not_carry_is_neither_a_pass_nor_a_fail(run: Run, tmp_path: Path) -> None:
    path = lay(tmp_path / "r", **healthy())
    ran = run("fleet", "report", path, "--expect", _expect(tmp_path, "at_most = 80", "gpus.*.temperature"))
    assert ran.code == 3
    assert (
        " ".join(ran.out.split()).count(
            "Not checked: `gpus.*.temperature`. Reports do not contain it; use `gpudoctor fleet"
        )
        == 1
    )
    assert "is not as expected" not in ran.out


def test_a_file_of_expectations_that_is_wrong(run: Run, folder: str, tmp_path: Path) -> None:
    file = _expect(tmp_path, "is = 3")
    reported = run("fleet", "report", folder, "--expect", file).sentence
    assert reported.endswith('nvidia.kernel.loaded: "is" takes a version, not 3.')


# -- hostile -------------------------------------------------------------------------------------------------


def test_hostile_reports_move_no_cursor_and_add_no_row(run: Run, tmp_path: Path) -> None:
    wicked = "</script><script>alert(1)</script>\x1b]0;owned\x07\n\u202e=1+1"
    finding = msgspec.structs.replace(FINDING, title=wicked, message=wicked, cause=wicked)
    ill = msgspec.structs.replace(report("fail", driver=wicked), findings=(finding,))
    path = lay(tmp_path / "r", **{"n1": ill, "@all": ill, "node[1-9]": ill, "=cmd": ill})
    for name in ("text", "json", "html", "csv", "prometheus"):
        reported = run("fleet", "report", path, "--format", name).out
        assert not {sign for sign in reported if sign != "\n" and (ord(sign) < 32 or sign == "\u202e")}, name
        assert "<script>alert" not in reported or name != "html"
    rows = list(csv.DictReader(io.StringIO(run("fleet", "report", path, "--format", "csv").out)))
    assert {row["node"] for row in rows} == {"n1", "'@all", "node[1-9]", "'=cmd"}
