"""Nodes with fewer GPUs than identical ones fail, with the empty slot named; pools that mix sizes do not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.expect.loader import loads
from gpudoctor.fleet.aggregate.summarize import together
from gpudoctor.fleet.expectations import Holding
from gpudoctor.fleet.runner.ledger import Ledger
from gpudoctor.fleet.runner.run_directory import LEDGER, REPORTS, RUN, Run
from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.inventory import Scalar
from gpudoctor.report.model import GpuEntry, Report
from tests.fleet.aggregate.reports import H100, finding, gpus, lay, report

SLOTS = tuple(f"0000:{0x1B + 0x11 * at:02x}:00.0" for at in range(8))


def node(
    lost: tuple[int, ...] = (),
    machine: Mapping[str, Scalar] | None = None,
    shown: tuple[int, ...] | None = None,
    status: str = "pass",
    **other: Any,
) -> Report:
    """A node that lacks the GPUs in some slots.

    Args:
        lost: the slots in which the driver finds none.
        machine: facts of the machine.
        shown: the slots in which the PCI bus has one; None: those of the driver.
        status: of its own report.
        other: facts of all GPUs.
    """
    there = [at for at in range(8) if at not in lost]
    entries = [
        GpuEntry(index=at, vendor="nvidia", name=H100, address=SLOTS[at], status="ok")
        for at in (there if shown is None else shown)
    ]
    return report(status=status, listed=gpus(len(there), **other), shown=entries, machine=machine)


def summary(tmp_path: Path, nodes: Mapping[str, Report]) -> Fleet:
    return together([str(lay(tmp_path / "reports", nodes))])


def series(count: int, start: str = "n") -> dict[str, Report]:
    return {f"{start}{number:02d}": node() for number in range(count)}


def test_a_node_that_lost_a_gpu_fails_and_its_slot_is_named(tmp_path: Path) -> None:
    fleet = summary(tmp_path, {**series(20), "n50": node((5,)), "n51": node((5,)), "n60": node((2,))})
    assert fleet.states == {"fail": "n[50-51,60]", "pass": "n[00-19]"}
    (cause,) = fleet.causes
    assert (cause.check, cause.status, cause.nodes) == ("fleet.gpus-missing", "fail", "n[50-51,60]")
    assert cause.title == "Fewer GPUs than identical nodes"
    assert cause.message == "7 of 8 GPUs found. No GPU is at 0000:70:00.0, where identical nodes have one."
    assert cause.evidence == (
        "8 GPUs on 20 of 23 nodes of the model Acme 8000 with names like n50",
        "n[50-51]: no GPU at 0000:70:00.0",
        "n60: no GPU at 0000:3d:00.0",
    )
    (fix,) = cause.fixes
    assert [text.splitlines()[0] for text in fix.commands] == ["# on n60:", "# on each of n[50-51]:"]
    assert "lspci -s 0000:3d:00.0" in fix.commands[0]
    assert "Xid 79" in fix.message
    explain = "`gpudoctor explain fleet.gpus-missing` explains the worst cause"
    assert fleet.next == (
        f"{explain}; `gpudoctor fleet report` with --cause fleet.gpus-missing shows its evidence and its fix.",
    )


def test_a_rule_about_the_number_of_gpus_does_not_list_the_same_node_again(tmp_path: Path) -> None:
    rules = "[expect.gpus]\ncount = 8\n[expect.'gpus.7.name']\npresent = true\n[expect.'gpus.0.ecc']\npresent = false\n"
    nodes = {**series(20), "n50": node((5,)), "n51": node((5,), ecc=True), "n70": node((4, 5, 6, 7))}
    paths = [str(lay(tmp_path / "reports", nodes))]
    fleet = together(paths, hold=Holding(loads(rules, "site.toml")))
    assert [(one.check, one.nodes, one.evidence[1:]) for one in fleet.causes if "ecc" not in one.check] == [
        ("fleet.gpus-missing", "n[50-51]", ("n[50-51]: no GPU at 0000:70:00.0",)),
        ("expect.gpus", "n70", ("found 4 on n70",)),
        ("expect.gpus-7-name", "n70", ("found none: gpus.7 does not exist on n70",)),
    ]
    assert fleet.causes[1].message == ""  # the example was of another node
    assert fleet.states["fail"] == "n[50-51,70]"
    nodes.pop("n70")
    (tmp_path / "reports" / "n70.json").unlink()
    assert "expect.gpus" not in {one.check for one in together(paths, hold=Holding(loads(rules, "site.toml"))).causes}


@pytest.mark.parametrize(
    ("others", "fails"),
    [
        ({"n50": node((5,))}, True),
        ({"n50": node((5, 6, 7))}, True),
        ({"n50": node((4, 5, 6, 7))}, False),  # half: it may have been bought so
        ({f"n5{at}": node((5,)) for at in range(2)}, True),
        ({f"n5{at}": node((5,)) for at in range(3)}, False),  # more than a fifth: the pool mixes sizes
        ({"m50": node((5,))}, False),  # of another series
        ({"n50": node((5,), {"host.product": "Other"})}, False),
        ({"n50": node((5,), {"host.product": None})}, False),
        ({"n50": node((5,), {"host.architecture": "aarch64"})}, False),
        ({"n50": node((5,), {"host.platform": "kvm"})}, False),
        ({"n50": node((5,), name="NVIDIA H200")}, False),
        ({"n50": node((5,), mig=True)}, False),
        ({"n50": node((5,), shown=tuple(range(8)))}, False),  # a job with a part of the GPUs
    ],
)
def test_where_gpus_are_missing(tmp_path: Path, others: dict[str, Report], fails: bool) -> None:
    fleet = summary(tmp_path, {**series(9), **others})
    assert {one.check for one in fleet.causes} == ({"fleet.gpus-missing"} if fails else set())


def test_three_nodes_are_too_few_to_compare_with(tmp_path: Path) -> None:
    assert not summary(tmp_path, {**series(3), "n9": node((1,))}).causes


def test_a_slot_that_cannot_be_compared_is_not_named(tmp_path: Path) -> None:
    nodes = {name: node(shown=()) for name in series(9)}
    (cause,) = summary(tmp_path, {**nodes, "n50": node((5,), shown=())}).causes
    assert cause.message == "7 of 8 GPUs found."
    assert len(cause.evidence) == 1
    assert "lspci | grep" in cause.fixes[0].commands[0]


def test_what_its_own_report_finds_is_not_reported_twice(tmp_path: Path) -> None:
    ill = msgspec.structs.replace(node((5,), status="fail"), findings=(finding("device.fallen-off-the-bus", "fail"),))
    fleet = summary(tmp_path, {**series(9), "n50": ill})
    assert [one.check for one in fleet.causes] == ["device.fallen-off-the-bus"]


@pytest.mark.parametrize(("listed", "fails"), [(7, False), (8, True), (None, True)])
def test_the_scheduler_knows_better(tmp_path: Path, listed: int | None, fails: bool) -> None:
    folder = tmp_path / "run"
    nodes = {**series(9), "n50": node((5,))}
    lay(folder / REPORTS, nodes)
    (folder / RUN).write_bytes(msgspec.json.encode(Run(engine="slurm")))
    ledger = Ledger(str(folder / LEDGER))
    for name in nodes:
        ledger.note(name, "reported", gpus=listed if name == "n50" else None)
    ledger.close()
    fleet = together([str(folder)])
    assert [one.nodes for one in fleet.causes] == (["n50"] if fails else [])
    if listed is None:
        assert fleet.causes[0].fixes[0].commands[0].startswith("sudo scontrol update nodename=n50 state=drain")


def test_of_several_reports_of_a_node_the_newest_is_compared(tmp_path: Path) -> None:
    nodes = {**series(9), "n50": node((5,))}
    whole = msgspec.structs.replace(node(), created="2026-11-22T00:00:00Z")
    paths = [str(lay(tmp_path / "old", nodes)), str(lay(tmp_path / "new", {"n50": whole}))]
    assert not together(paths).causes
    assert together(paths[:1]).causes
