"""Rates of PCI Express links."""

import pytest

from gpudoctor.knowledge import pcie


@pytest.mark.parametrize(("generation", "width", "rate"), [(3, 16, 15.76), (4, 8, 15.75), (5, 16, 63.0), (1, 1, 0.25)])
def test_bandwidth(generation: int, width: int, rate: float) -> None:
    assert pcie.bandwidth(generation, width) == pytest.approx(rate, abs=0.05)


def test_copies_reach_less_than_the_theory() -> None:
    for number in (3, 4, 5):
        theory, low = (f(number, 16) for f in (pcie.bandwidth, pcie.low_bandwidth))
        assert theory is not None
        assert low is not None
        assert low < theory


def test_rates_scale_with_the_width() -> None:
    assert pcie.low_bandwidth(4, 8) == 10.5


@pytest.mark.parametrize("generation", [1, 2, 6, 7, 9])
def test_what_nobody_measured_is_none(generation: int) -> None:
    assert pcie.low_bandwidth(generation, 16) is None


def test_an_unknown_generation_is_none() -> None:
    assert pcie.bandwidth(9, 16) is None
