"""Facts on which like machines do not agree: the majority, who departs from it, and what is no drift."""

from collections.abc import Sequence

import pytest

from gpudoctor.fleet.summary import Drift
from gpudoctor.report.model import Report
from tests.fleet.aggregate.reports import GIB, GPU, H100, PACKAGES, PYTHON, fleet, gpus, named, report

USUAL = [report() for _ in range(5)]


def _drifts(given: Sequence[Report]) -> list[tuple[str, str, int, int, list[tuple[str, str, int]]]]:
    return [_told(one) for one in fleet(named(given)).drifts]


def _told(one: Drift) -> tuple[str, str, int, int, list[tuple[str, str, int]]]:
    return one.fact, one.majority, one.count, one.known, [(d.value, d.nodes, d.count) for d in one.departures]


def _set(**packages: str) -> dict[str, dict[str, str]]:
    return {PYTHON: PACKAGES | packages}


@pytest.mark.parametrize(
    ("other", "fact", "majority", "value"),
    [
        (report(machine={"host.kernel.release": "6.8"}), None, "", ""),  # one value is no disagreement
        (report(machine={"nvidia.kernel.loaded": "570"}), "nvidia.kernel.loaded", "580.95.05", "570"),
        (report(machine={"nvidia.kernel.loaded": None}), "nvidia.kernel.loaded", "580.95.05", "none"),
        (report(listed=gpus(7)), "gpus", "8", "7"),
        (report(listed=gpus(vbios="97.00")), "gpus.*.vbios", "96.00", "97.00"),
        (report(listed=gpus(odd={"link_width": 8})), "gpus.*.link_width", "16", "16 on 7 GPUs, 8 on 1"),
        (report(listed=gpus(odd={"vbios": "97"})), "gpus.*.vbios", "96.00", "96.00 on 7 GPUs, 97 on 1"),
        (report(machine={"host.memory": 1000 * GIB}), "host.memory", "2000 GiB", "1000 GiB"),
        (report(machine={"host.memory": 1979 * GIB + 1}), None, "", ""),
        (report(machine={"host.memory": 1959 * GIB}), "host.memory", "2000 GiB", "1959 GiB"),
        (report(listed=gpus(memory=81 * GIB)), None, "", ""),
        (report(listed=gpus(odd={"memory": 40 * GIB})), "gpus.*.memory", "80 GiB", "80 GiB on 7 GPUs, 40 GiB on 1"),
        (report(packages=_set(torch="2.8.0")), "packages.torch", "2.9.1", "2.8.0"),
        (report(packages={PYTHON: {"torch": "2.9.1"}}), "packages.numpy", "2.3.5", "not installed"),
        (report(packages=_set(extra="1")), "packages.extra", "not installed", "1"),
        (report(packages={PYTHON: {}}), None, "", ""),  # unknown
        (report(packages={PYTHON: PACKAGES, "/usr/bin/python3": {"pip": "1"}}), "packages[/usr/bin/python3].pip",
         "not installed", "1"),
    ],
)  # fmt: skip
def test_who_departs_from_the_majority(other: Report, fact: str | None, majority: str, value: str) -> None:
    found = _drifts([*USUAL, other])
    assert [one[:3] for one in found] == ([(fact, majority, 5)] if fact else [])
    assert [one[4] for one in found] == ([[(value, "n6", 1)]] if fact else [])


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ("570", ["nvidia.kernel.loaded"]),  # its CUDA follows from it
        ("580.95.05", ["nvidia.cuda.version"]),  # of a package cuda-compat
    ],
)
def test_the_cuda_of_another_driver_is_no_drift_of_its_own(driver: str, expected: list[str]) -> None:
    usual = [report(machine={"nvidia.cuda.version": "13.0"}) for _ in range(5)]
    other = report(machine={"nvidia.kernel.loaded": driver, "nvidia.cuda.version": "12.8"})
    assert [one[0] for one in _drifts([*usual, other])] == expected


def test_the_folder_of_a_user_hides_no_drift() -> None:
    homes = [{f"/home/{name}/venv/bin/python": PACKAGES} for name in "abcd"]
    other = {"/root/venv/bin/python": PACKAGES | {"torch": "2.8.0"}}
    assert [one[0] for one in _drifts([report(packages=one) for one in [*homes, other]])] == ["packages.torch"]


def test_another_place_of_the_same_packages_is_one_line() -> None:
    found = _drifts([*USUAL, report(packages={"/usr/bin/python3": PACKAGES})])
    assert found == [("packages", PYTHON, 5, 6, [("/usr/bin/python3", "n6", 1)])]


def test_another_environment_is_one_line() -> None:
    many = {f"p{number}": "1" for number in range(50)}
    found = _drifts([*(report(packages={PYTHON: many}) for _ in range(5)), report(packages={"/x": PACKAGES})])
    assert found == [
        ("packages", PYTHON, 5, 6, [("/x", "n6", 1)]),
        ("packages.*", "the most common set", 5, 6, [("52 packages differ: /x", "n6", 1)]),
    ]


def test_a_second_interpreter_hides_nothing_of_the_first() -> None:
    second = {"/usr/bin/python3": {f"p{number}": "1" for number in range(30)}}
    found = _drifts([*USUAL, report(packages=_set(torch="2.8.0") | second)])
    assert found == [
        ("packages.torch", "2.9.1", 5, 6, [("2.8.0", "n6", 1)]),
        ("packages[/usr/bin/python3].*", "the most common set", 5, 6, [("30 packages differ", "n6", 1)]),
    ]


def test_unknown_is_neither_the_majority_nor_a_departure() -> None:
    unknown = [report(listed=gpus(8)[:0] + tuple({"name": H100} for _ in range(8))) for _ in range(9)]
    assert GPU["vbios"] == "96.00"
    found = _drifts([*unknown, report(), report(), report(listed=gpus(vbios="97"))])
    assert found == [("gpus.*.vbios", "96.00", 2, 3, [("97", "n12", 1)])]


def test_half_is_no_majority() -> None:
    other = report(machine={"nvidia.kernel.flavor": "open"})
    given = [report(machine={"nvidia.kernel.flavor": "closed"}), other, other,
             report(machine={"nvidia.kernel.flavor": "closed"})]  # fmt: skip
    assert _drifts(given) == [("nvidia.kernel.flavor", "", 0, 4, [("closed", "n[1,4]", 2), ("open", "n[2-3]", 2)])]


def test_a_value_of_its_own_on_nearly_every_node_is_one_line() -> None:
    (found,) = fleet(named(report(machine={"host.kernel.release": f"own {n}"}) for n in range(20))).drifts
    assert (found.fact, found.majority, found.known, found.values) == ("host.kernel.release", "", 20, 20)
    assert found.departures == ()


def test_many_such_facts_are_one_line() -> None:
    own = [{f"host.{name}": f"{name} {number}" for name in "abcde"} for number in range(20)]
    (found,) = fleet(named(report(machine=one) for one in own)).drifts
    assert (found.fact, found.values, found.departures) == ("host.a and 4 more facts", 20, ())


def test_many_values_of_a_few_nodes_are_cut() -> None:
    others = [report(machine={"nvidia.kernel.loaded": f"5{n:02d}"}) for n in range(30)]
    (found,) = fleet(named([report() for _ in range(70)] + others)).drifts
    assert (found.values, len(found.departures), found.count) == (31, 20, 70)


def test_groups_are_not_held_against_each_other() -> None:
    old = [report(listed=gpus(4, vbios="1"), machine={"nvidia.kernel.loaded": "535"}) for _ in range(5)]
    assert _drifts([*USUAL, *old]) == []


def test_what_matters_first() -> None:
    others = [
        report(packages=_set(aaa="1")), report(packages=_set(torch="1")), report(machine={"host.cpus": 5}),
        report(machine={"host.kernel.release": "6"}), report(listed=gpus(odd={"link_width": 8})),
        report(listed=gpus(vbios="9")), report(listed=gpus(7)), report(machine={"nvidia.kernel.loaded": "5"}),
    ]  # fmt: skip
    usual = [report(machine={"host.cpus": 192.0, "host.kernel.release": "5"}) for _ in range(40)]
    order = [one[0] for one in _drifts([*usual, *others])]
    assert order == [
        "nvidia.kernel.loaded", "gpus", "gpus.*.vbios", "gpus.*.link_width", "host.kernel.release", "host.cpus",
        "packages.torch", "packages.aaa",
    ]  # fmt: skip


def test_the_same_of_the_same_nodes_is_said_once() -> None:
    both = {"nvidia.kernel.loaded": "570", "nvidia.nvml.driver_version": "570"}
    assert [one[0] for one in _drifts([*USUAL, report(machine=both)])] == ["nvidia.kernel.loaded"]
    half = both | {"nvidia.nvml.driver_version": "580"}
    assert [one[0] for one in _drifts([*USUAL, report(machine=half)])] == [
        "nvidia.kernel.loaded", "nvidia.nvml.driver_version",
    ]  # fmt: skip
