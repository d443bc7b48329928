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
from gpudoctor.report.inventory import Scalar
from gpudoctor.report.model import FindingEntry, FixEntry
from tests.fleet.aggregate.reports import finding, gpus, report

ASKED = FindingEntry(
    check="device.no-gpu", status="fail", subject="this machine", title="No GPU found",
    message="No GPU is found on this machine, but SLURM_JOB_GPUS=0 asks for one.", cause="There is none.",
    fixes=(FixEntry("Look."),),
)  # fmt: skip


def ran(
    tmp_path: Path,
    nodes: dict[str, tuple[str, int | None]],
    engine: str = "slurm",
    found: tuple[dict[str, Scalar], ...] | None = None,
    options: tuple[str, ...] = (),
) -> Fleet:
    """The summary of a run.

    Args:
        tmp_path: where its directory is made.
        nodes: of each its report's verdict, and how many GPUs the engine lists for it.
        engine: that ran.
        found: the GPUs that each node finds that passes; None: eight.
        options: of srun.
    """
    folder = tmp_path / "run"
    (folder / REPORTS).mkdir(parents=True)
    run = Run(engine=engine, options={"--srun-option": options} if options else {})
    (folder / RUN).write_bytes(msgspec.json.encode(run))
    ledger = Ledger(str(folder / LEDGER))
    for node, (verdict, listed) in nodes.items():
        asked = verdict == "asked"
        made = report(
            status="no-gpu" if asked else verdict, findings=(ASKED,) * asked, listed=found if verdict == "pass" else ()
        )
        (folder / REPORTS / f"{node}.json").write_bytes(msgspec.json.encode(made))
        ledger.note(node, "reported", gpus=listed)
    ledger.close()
    return together([str(folder)])


def test_gres_that_nobody_finds_is_a_failure_and_its_nodes_are_named(tmp_path: Path) -> None:
    fleet = ran(tmp_path, {f"n{i}": ("no-gpu" if i > 2 else "pass", 8) for i in range(1, 6)})
    assert fleet.states == {"no-gpu": "n[3-5]", "pass": "n[1-2]"}
    assert status(fleet) == "fail"
    assert sentence(fleet) == "2 of 5 nodes are healthy; 3 have NO GPU."
    (cause,) = fleet.causes
    assert (cause.check, cause.status, cause.nodes) == ("fleet.gpus-missing", "fail", "n[3-5]")
    assert cause.cause.startswith("Slurm lists gpu:8 for each of these nodes, the driver finds none. 8 GPUs are gone")


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
    [
        ("kubernetes", "Kubernetes lists nvidia.com/gpu: 1 for this node, the driver finds none. The GPU is gone"),
        ("ray", "Ray lists 1 GPU for this node"),
    ],
)
def test_each_engine_has_its_words(tmp_path: Path, engine: str, message: str) -> None:
    assert ran(tmp_path, {"n1": ("no-gpu", 1)}, engine).causes[0].cause.startswith(message)


def test_a_node_with_fewer_gpus_than_listed_fails_though_its_own_report_passes(tmp_path: Path) -> None:
    fleet = ran(tmp_path, {"n1": ("pass", 8), "n2": ("pass", 8), "login": ("no-gpu", None)}, found=gpus(7))
    assert fleet.states == {"fail": "n[1-2]", "no-gpu": "login"}
    assert sentence(fleet) == "0 of 3 nodes are healthy; 2 fail, 1 has NO GPU."
    (cause,) = fleet.causes
    assert (cause.check, cause.title) == ("fleet.gpus-missing", "Fewer GPUs found than the scheduler lists")
    assert cause.cause.startswith("Slurm lists gpu:8 for each of these nodes, the driver finds 7. The GPU is gone")
    drain, look = cause.fixes[0].commands
    assert drain == "sudo scontrol update nodename='n[1-2]' state=drain reason='7 of 8 GPUs found'"
    assert look.startswith("# on each of n[1-2]:\nsudo dmesg -T | grep -e Xid")


@pytest.mark.parametrize(
    ("engine", "listed", "found", "options", "fails"),
    [
        ("slurm", 8, gpus(4), (), True),
        ("slurm", 8, gpus(8), (), False),
        ("slurm", 7, gpus(8), (), False),  # an operator keeps one back
        ("slurm", 7, gpus(1, mig=True), (), False),  # GRES lists the instances
        ("slurm", 8, gpus(4, {"mig": True}), (), False),
        ("slurm", 8, gpus(2), ("--gres=gpu:2",), False),  # the job asked for no more
        ("slurm", 8, gpus(2), ("--qos=high",), True),
        ("kubernetes", 8, gpus(7), (), True),
        ("kubernetes", 32, gpus(8), (), False),  # shared: each is listed four times
        ("ray", 8, gpus(7), (), True),
    ],
)
def test_where_gpus_are_missing(
    tmp_path: Path, engine: str, listed: int, found: tuple[dict[str, Scalar], ...], options: tuple[str, ...],
    fails: bool,
) -> None:  # fmt: skip
    fleet = ran(tmp_path, {"n1": ("pass", listed)}, engine, found, options)
    assert status(fleet) == ("fail" if fails else "pass")
    assert len(fleet.causes) == fails


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
    assert '<i class="s9"' in page
    assert "NO GPU <b>1</b>" in page
    assert "n2,no-gpu," in csv.render(fleet)
    assert 'gpudoctor_fleet_nodes{state="no-gpu"} 1.0' in prometheus.render(fleet)


def test_gpus_that_its_own_report_misses_are_listed_once(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    ran(tmp_path, {"n1": ("pass", 8)}, found=gpus(7))
    own = report(status="fail", findings=(finding("driver.gpus-missing", "fail"),), listed=gpus(7))
    (folder / REPORTS / "n1.json").write_bytes(msgspec.json.encode(own))
    assert [one.check for one in together([str(folder)]).causes] == ["driver.gpus-missing"]
