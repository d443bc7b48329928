"""What a cause reports of some nodes is not listed as drift again; what it does not explain is."""

import pytest

from gpudoctor.fleet.explained import drifts
from gpudoctor.fleet.summary import Cause, Departure, Drift, Fleet
from tests.fleet.fleets import H100


def cause(check: str, nodes: str, status: str = "fail", title: str = "t") -> Cause:
    return Cause(check=check, status=status, title=title, cause="c", message="", example="n1", nodes=nodes, count=9)


def drift(fact: str, majority: str, *departures: tuple[str, str, int]) -> Drift:
    return Drift(
        hardware=H100, fact=fact, majority=majority, count=90, known=99, values=1 + len(departures),
        departures=tuple(Departure(value=value, nodes=nodes, count=count) for value, nodes, count in departures),
    )  # fmt: skip


DRIVER = drift("nvidia.kernel.loaded", "580", ("570", "n[1-2]", 2), ("none", "n3", 1))


@pytest.mark.parametrize(
    ("causes", "one", "left"),
    [
        ([], DRIVER, ["570", "none"]),
        ([cause("driver.not-loaded", "n3")], DRIVER, ["570"]),  # another release is not explained by it
        ([cause("driver.not-loaded", "n[1-3]")], DRIVER, ["570"]),
        ([cause("driver.library-mismatch", "n[1-3]")], DRIVER, []),
        ([cause("driver.library-mismatch", "n1")], DRIVER, ["570", "none"]),  # one of the two is left to report
        ([cause("driver.library-mismatch", "n1"), cause("driver.half-upgraded", "n2")], DRIVER, ["none"]),
        ([cause("driver.library-mismatch", "n[1-3]", "advice")], DRIVER, ["570", "none"]),
        ([cause("link.narrow-pcie", "n[1-3]")], DRIVER, ["570", "none"]),
        ([cause("expect.driver", "n[1-3]", title="nvidia.kernel.loaded is not as expected")], DRIVER, []),
        ([cause("fleet.gpus-missing", "n1")], drift("gpus", "8", ("7", "n1", 1), ("9", "n2", 1)), ["9"]),
        ([cause("fleet.gpus-missing", "n1")], drift("gpus", "", ("7", "n1", 1)), ["7"]),
        ([cause("link.narrow-pcie", "n1", "warn")], drift("gpus.*.link_width", "16", ("8", "n1", 1)), []),
        ([cause("pytorch.import-fails", "n1")], drift("packages.torch", "2.9", ("2.8", "n1", 1)), ["2.8"]),
        (
            [cause("expect.numpy", "n1", title="pythons.0.packages.numpy.version is not as expected")],
            drift("packages.numpy", "2.3", ("2.2", "n1", 1)), [],
        ),
    ],
)  # fmt: skip
def test_what_is_left(causes: list[Cause], one: Drift, left: list[str]) -> None:
    found = drifts(Fleet(causes=tuple(causes), drifts=(one,)))
    assert [departure.value for one in found for departure in one.departures] == left
    assert len(found) == bool(left)
    if found:
        assert found[0].values == 1 + len(left)


def test_a_fact_with_a_value_on_each_node_stays() -> None:
    own = drift("host.memory", "")
    assert drifts(Fleet(causes=(cause("host.memlock-small", "n1"),), drifts=(own,))) == (own,)
