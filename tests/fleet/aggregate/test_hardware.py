"""Groups of like hardware, and nodes that lost a part of it."""

import pytest

from gpudoctor.fleet.aggregate.hardware import Kind, body, groups
from gpudoctor.fleet.aggregate.inventory_facts import Hardware
from gpudoctor.report.model import GpuEntry, Report
from tests.fleet.aggregate.reports import H100, fleet, gpus, named, report

EIGHT = Kind(Hardware(8, (H100,), f"8 x {H100}"), "x86_64", "Acme", "bare")
SEVEN = EIGHT._replace(hardware=Hardware(7, (H100,), f"7 x {H100}"))
FOUR = EIGHT._replace(hardware=Hardware(4, (H100,), f"4 x {H100}"))
A100 = EIGHT._replace(hardware=Hardware(7, ("A100",), "7 x A100"))
NONE = EIGHT._replace(hardware=Hardware(0, (), "no GPU"))
SILENT = EIGHT._replace(hardware=Hardware(0, (), "8 GPUs not visible to any driver", silent=True))


def _group(small: Kind, few: int, large: Kind = EIGHT, many: int = 20) -> str:
    return groups({small: few, large: many})[body(small)]


@pytest.mark.parametrize(
    ("small", "few", "own"),
    [
        (SEVEN, 5, False),
        (SEVEN, 6, True),  # as many are no accident
        (SEVEN._replace(architecture="aarch64"), 1, True),
        (SEVEN._replace(product="Other"), 1, False),
        (EIGHT._replace(hardware=Hardware(16, (H100,), f"16 x {H100}")), 1, True),  # nothing was lost
        (FOUR, 1, False),
        (FOUR._replace(product=""), 1, False),
        (FOUR._replace(product="Other"), 1, True),  # a smaller machine
        (FOUR._replace(platform="container"), 1, True),  # that was given four
        (A100, 1, True),
        (NONE, 1, False),
        (NONE._replace(product="Other"), 1, True),
        (NONE._replace(product=""), 1, True),
        (NONE._replace(platform="kvm"), 1, True),
        (SILENT._replace(platform="kvm"), 1, False),
        (SILENT._replace(product="Other"), 1, True),
    ],
)
def test_a_node_that_lost_gpus_stays_in_its_group(small: Kind, few: int, own: bool) -> None:
    assert (_group(small, few) != f"8 x {H100}") == own


def test_a_smaller_instance_lost_nothing() -> None:
    large, small, ill = (one._replace(platform="vm") for one in (EIGHT, FOUR, SEVEN))
    found = groups({large: 20, small: 2, ill: 1})
    assert found[body(small)] == f"4 x {H100}"
    assert found[body(ill)] == f"8 x {H100}"


def test_two_nodes_are_no_majority() -> None:
    assert _group(SEVEN, 1, many=2) == f"7 x {H100}"


def test_the_largest_group_takes_it() -> None:
    four = EIGHT._replace(hardware=Hardware(4, (H100,), f"4 x {H100}"))
    two = EIGHT._replace(hardware=Hardware(2, (H100,), f"2 x {H100}"))
    assert groups({EIGHT: 50, four: 40, two: 1})[body(two)] == f"8 x {H100}"
    assert groups({EIGHT: 40, four: 50, two: 1})[body(two)] == f"4 x {H100}"


@pytest.mark.parametrize(
    ("one", "label"),
    [
        (report(), f"8 x {H100}"),
        (report(listed=(*gpus(4), *gpus(4, name="NVIDIA A100"))), f"4 x NVIDIA A100 + 4 x {H100}"),
        (report(listed=()), "no GPU"),
        (report(listed=({"vbios": "1"},)), "1 x unknown GPU"),
        (report(machine={"host.architecture": "aarch64"}), f"8 x {H100}, aarch64"),
        (
            report(listed=(), shown=[GpuEntry(index=0, vendor="nvidia", name="GH100", status="no driver")]),
            "1 GPU not visible to any driver",
        ),
        (
            report(listed=(), shown=[GpuEntry(index=n, vendor="intel", status="driver xe") for n in range(2)]),
            "2 GPUs not visible to any driver",
        ),
    ],
)
def test_labels(one: Report, label: str) -> None:
    assert [group.hardware for group in fleet({"n1": one}).groups] == [label]


def test_groups_are_told_largest_first() -> None:
    given = [
        report(listed=gpus(4)),
        *(report() for _ in range(3)),
        report(listed=gpus(4, name="A")),
        report(listed=gpus(4)),
    ]
    assert [(one.hardware, one.nodes, one.count) for one in fleet(named(given)).groups] == [
        (f"8 x {H100}", "n[2-4]", 3), (f"4 x {H100}", "n[1,6]", 2), ("4 x A", "n5", 1),
    ]  # fmt: skip
