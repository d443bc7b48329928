"""Nodes without a GPU for which a scheduler lists some: a failure, told by name, and none of them is healthy."""

import re
from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.aggregate.report_sources import SourceError
from gpudoctor.fleet.aggregate.summarize import together
from gpudoctor.fleet.renderers import csv, html, prometheus, text
from gpudoctor.fleet.renderers.verdict import sentence, status
from gpudoctor.fleet.runner.ledger import Ledger
from gpudoctor.fleet.runner.run_directory import LEDGER, REPORTS, RUN, Run
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.model import FindingEntry, FixEntry
from tests.fleet.aggregate.reports import report

ASKED = FindingEntry(
    check="device.no-gpu", status="fail", subject="this machine", title="No GPU found",
    message="No GPU is found on this machine, but SLURM_JOB_GPUS=0 asks for one.", cause="There is none.",
    fixes=(FixEntry("Look."),),
)  # fmt: skip


def ran(tmp_path: Path, nodes: dict[str, tuple[str, int | None]], engine: str = "slurm") -> Fleet:
    """The summary of a run: of each node its report's verdict, and how many GPUs the engine lists for it."""
    folder = tmp_path / "run"
    (folder / REPORTS).mkdir(parents=True)
    (folder / RUN).write_bytes(msgspec.json.encode(Run(engine=engine)))
    ledger = Ledger(str(folder / LEDGER))
    for node, (verdict, gpus) in nodes.items():
        asked = verdict == "asked"
        made = report(
            status="no-gpu" if asked else verdict, findings=(ASKED,) * asked, listed=None if verdict == "pass" else ()
        )
        (folder / REPORTS / f"{node}.json").write_bytes(msgspec.json.encode(made))
        ledger.note(node, "reported", gpus=gpus)
    ledger.close()
    return together([str(folder)])


def test_gres_that_nobody_finds_is_a_failure_and_its_nodes_are_named(tmp_path: Path) -> None:
    fleet = ran(tmp_path, {f"n{i}": ("no-gpu" if i > 2 else "pass", 8) for i in range(1, 6)})
    assert fleet.states == {"no-gpu": "n[3-5]", "pass": "n[1-2]"}
    assert status(fleet) == "fail"
    assert sentence(fleet) == "2 of 5 nodes are healthy; 3 have NO GPU."
    (cause,) = fleet.causes
    assert (cause.check, cause.status, cause.nodes) == ("fleet.gpus-missing", "fail", "n[3-5]")
    assert cause.cause.startswith("Slurm lists 8 GPUs in GRES for each of these nodes, but gpudoctor found none.")


@pytest.mark.parametrize(
    ("nodes", "verdict", "causes"),
    [
        ({"login": ("no-gpu", None), "n1": ("pass", 8)}, "no-gpu", []),
        ({"login": ("no-gpu", 0), "n1": ("pass", 8)}, "no-gpu", []),
        ({"n1": ("asked", 8)}, "fail", [("device.no-gpu", "n1")]),  # its own report says so already
        ({"n1": ("pass", 8)}, "pass", []),
        ({"n1": ("no-gpu", 4), "n2": ("no-gpu", 8)}, "fail", [("fleet.gpus-missing", "n1"),
                                                             ("fleet.gpus-missing", "n2")]),
    ],
)  # fmt: skip
def test_what_is_missing_where(
    tmp_path: Path, nodes: dict[str, tuple[str, int | None]], verdict: str, causes: list[tuple[str, str]]
) -> None:
    fleet = ran(tmp_path, nodes)
    assert status(fleet) == verdict
    assert [(one.check, one.nodes) for one in fleet.causes] == causes


@pytest.mark.parametrize(
    ("engine", "message"),
    [("kubernetes", "Kubernetes lists 1 GPU as allocatable for this node"), ("ray", "Ray lists 1 GPU for this node")],
)
def test_each_engine_has_its_words(tmp_path: Path, engine: str, message: str) -> None:
    assert ran(tmp_path, {"n1": ("no-gpu", 1)}, engine).causes[0].cause.startswith(message)


def test_the_last_line_of_a_node_counts_and_half_a_line_does_not(tmp_path: Path) -> None:
    ran(tmp_path, {"n1": ("no-gpu", 8)})
    ledger = tmp_path / "run" / LEDGER
    ledger.write_text(ledger.read_text() + '{"node":"n1","state":"reported"}\n{"node":"n1","sta')
    assert together([str(tmp_path / "run")]).causes == ()


def test_a_ledger_of_an_earlier_release_lists_none(tmp_path: Path) -> None:
    ran(tmp_path, {"n1": ("no-gpu", None)})
    ledger = tmp_path / "run" / LEDGER
    ledger.write_text('{"node":"n1","state":"reported","why":"","at":"","seconds":1.0}\n')
    assert together([str(tmp_path / "run")]).causes == ()
    ledger.unlink()
    ledger.mkdir()
    with pytest.raises(SourceError):
        together([str(tmp_path / "run"), str(tmp_path / "none")])


def test_every_form_tells_them_by_name_and_none_counts_them_as_well(tmp_path: Path) -> None:
    fleet = ran(tmp_path, {"n1": ("pass", 8), "n2": ("no-gpu", 8)})
    assert "nodes     NO GPU      1  n2" in text.render(fleet)
    page = html.render(fleet)
    assert "1 of 2 nodes is healthy; 1 has NO GPU." in re.sub("<[^>]*>", "", page)
    assert '<i class="s8"' in page
    assert "NO GPU <b>1</b>" in page
    assert "n2,no-gpu," in csv.render(fleet)
    assert 'gpudoctor_fleet_nodes{state="no-gpu"} 1.0' in prometheus.render(fleet)
