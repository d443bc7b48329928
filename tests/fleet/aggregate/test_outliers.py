"""Outliers that stand apart: by how much, on which side, and among how many."""

import random

import pytest

from gpudoctor.fleet.aggregate import measurements
from gpudoctor.fleet.aggregate.outliers import OutlierRule, middle, rule
from gpudoctor.fleet.summary import Fleet, Spread
from gpudoctor.report.model import Report
from tests.fleet.aggregate.reports import H100, fleet, gpus, measured, named, report

NEAR = (100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1)


def _spread(*values: float, unit: str = "GB/s", name: str = "rate") -> Spread:
    (found,) = fleet({"n1": report(smoke=measured(*values, unit=unit, name=name))}).spreads
    return found


def _far(*values: float, unit: str = "GB/s", name: str = "rate") -> list[float]:
    return [one.value for one in _spread(*values, unit=unit, name=name).outliers]


@pytest.mark.parametrize(
    ("values", "median", "deviation"),
    [
        ([], 0.0, 0.0),
        ([3.0], 3.0, 0.0),
        ([1.0, 3.0], 2.0, 1.4826),
        ([1.0, 2.0, 3.0], 2.0, 1.4826),
        ([1.0, 2.0, 3.0, 4.0, 100.0], 3.0, 1.4826),
        ([5.0, 5.0, 5.0], 5.0, 0.0),
        ([5.0, 5.0, 5.0, 9.0], 5.0, 1.2533),  # more than half are equal: the mean deviation
    ],
)
def test_middle(values: list[float], median: float, deviation: float) -> None:
    assert middle(values) == pytest.approx((median, deviation))


@pytest.mark.parametrize(
    ("figure", "unit", "expected"),
    [
        ("pytorch.matmul bf16.rate", "TFLOP/s", OutlierRule(-1, 0.08)),
        ("pytorch.mnist.rate", "images/s", OutlierRule(-1, 0.08)),
        ("pytorch.matmul fp32.speed-up", "ratio", OutlierRule(-1, 0.08)),
        ("pytorch.stress.last third", "ratio", OutlierRule(-1, 0.08)),
        ("pytorch.matmul fp32.first call", "s", OutlierRule(1, 0.5)),
        ("pytorch.overlap.copy", "s", OutlierRule(1, 0.08)),
        ("pytorch.matmul fp32.error", "ratio", OutlierRule(1, 9.0)),
        ("pytorch.mnist.loss error", "ratio", OutlierRule(1, 9.0)),
        ("pytorch.mixed.scale", "ratio", OutlierRule(0, 0.08)),
    ],
)
def test_rules(figure: str, unit: str, expected: OutlierRule) -> None:
    assert rule(figure, unit) == expected


@pytest.mark.parametrize(
    ("value", "unit", "name", "far"),
    [
        (80.0, "GB/s", "rate", True),
        (95.0, "GB/s", "rate", False),  # far in deviations, and it matters to nobody
        (150.0, "GB/s", "rate", False),  # faster is no fault
        (150.0, "s", "time", True),
        (50.0, "s", "time", False),
        (140.0, "s", "first call", False),
        (160.0, "s", "first call", True),
        (900.0, "ratio", "error", False),
        (1100.0, "ratio", "error", True),
        (80.0, "ratio", "scale", True),
        (120.0, "ratio", "scale", True),
    ],
)
def test_far_on_the_side_that_is_bad(value: float, unit: str, name: str, far: bool) -> None:
    assert _far(*NEAR, value, unit=unit, name=name) == ([value] if far else [])


def test_where_values_vary_much_a_low_one_is_none() -> None:
    assert _far(50.0, 70.0, 90.0, 110.0, 130.0, 150.0, 40.0) == []


@pytest.mark.parametrize("values", [(100.0, 100.0, 100.0, 1.0), (5.0, 5.0, 5.0, 5.0, 5.0), (0.0, 0.0, 0.0, 0.0, 0.0)])
def test_too_few_or_all_equal(values: tuple[float, ...]) -> None:
    assert _far(*values) == []


def test_one_among_many_equal_ones() -> None:
    (one,) = _spread(*[100.0] * 20, 50.0).outliers
    assert one.value == 50.0
    assert one.deviations == pytest.approx(-16.8, abs=0.1)


def test_what_is_told() -> None:
    found = fleet({"n1": report(smoke=measured(*NEAR)), "n2": report(smoke=measured(*NEAR[:-1], 80.0))})
    (one,) = found.spreads
    assert (one.hardware, one.figure, one.unit, one.count) == (
        f"8 x {H100}",
        "pytorch.transfer pinned.rate",
        "GB/s",
        16,
    )
    assert (one.least, one.median, one.most) == (80.0, 100.0, 101.0)
    assert one.least < one.low < one.median < one.high <= one.most
    assert [(far.node, far.device, far.value) for far in one.outliers] == [("n2", "GPU 7", 80.0)]
    assert one.outliers[0].deviations == pytest.approx((80.0 - one.median) / one.deviation, abs=0.1)


def test_the_farthest_are_named_and_the_others_counted() -> None:
    slow = [50.0 + number / 10 for number in range(30)]
    found = _spread(*NEAR * 20, *slow)
    assert [one.value for one in found.outliers] == slow[:20]
    assert found.more == 10


def test_devices_that_others_used_are_left_out() -> None:
    assert fleet({"n1": report(smoke=measured(*NEAR, busy=True))}).spreads == ()


def test_by_group_of_like_hardware() -> None:
    slow = [report(listed=gpus(4, name="A100"), smoke=measured(50.0, 51.0)) for _ in range(3)]
    fast = [report(smoke=measured(*NEAR)) for _ in range(3)]
    found = fleet(named([*slow, *fast])).spreads
    assert sorted((one.hardware, one.count, one.outliers) for one in found) == [
        ("4 x A100", 6, ()),
        (f"8 x {H100}", 24, ()),
    ]


def test_a_node_that_lost_a_gpu_is_held_against_its_group() -> None:
    lost = report(listed=gpus(7), smoke=measured(*NEAR[:6], 70.0))
    (found,) = fleet(named([report(smoke=measured(*NEAR)) for _ in range(8)] + [lost])).spreads
    assert [(one.node, one.value) for one in found.outliers] == [("n9", 70.0)]


def _many(seed: int) -> Fleet:
    """Two hundred nodes in some order, of which three have a slow GPU."""
    dice = random.Random(7)
    given: dict[str, Report | bytes] = {}
    for number in range(200):
        values = [100 * dice.gauss(1, 0.005) for _ in range(8)]
        if number in (11, 77, 150):
            values[3] = 60.0 + number / 100
        given[f"n{number}"] = report(smoke=measured(*values))
    order = list(given)
    random.Random(seed).shuffle(order)
    return fleet({name: given[name] for name in order})


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_above_a_number_of_values_some_are_kept_and_outliers_still_named(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("gpudoctor.fleet.aggregate.tally._OFTEN", 7)
    whole = _many(seed).spreads[0]
    monkeypatch.setattr(measurements, "VALUES", 300)
    part = _many(seed).spreads[0]
    assert (
        (part.count, part.least, part.most) == (whole.count, whole.least, whole.most) == (1600, whole.least, whole.most)
    )
    assert part.median == pytest.approx(whole.median, rel=0.002)
    assert part.median != whole.median
    assert [(one.node, one.device) for one in part.outliers] == [("n11", "GPU 3"), ("n77", "GPU 3"), ("n150", "GPU 3")]
