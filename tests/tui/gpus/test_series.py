"""Samples as evenly spaced values: jitter leaves no gap, silence does."""

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.sampling.lines import GpuSample
from gpudoctor.tui.gpus.metrics import field
from gpudoctor.tui.gpus.series import spaced


def samples(*reported: tuple[float, int | None]) -> list[GpuSample]:
    return [GpuSample(at=at, utilization=Unknown("?") if value is None else value) for at, value in reported]


@pytest.mark.parametrize(
    ("reported", "now", "step", "values"),
    [
        ([], 10.0, 1.0, [None] * 4),
        ([(7.1, 1), (8.1, 2), (9.1, 3), (10.1, 4)], 10.5, 1.0, [1, 2, 3, 4]),
        ([(7.9, 1), (8.1, 2), (9.9, 3), (10.1, 4)], 10.5, 1.0, [1, 2, 3, 4]),
        ([(7.1, 1), (9.1, 3), (10.1, 4)], 10.5, 1.0, [1, 1, 3, 4]),
        ([(7.1, 1), (10.1, 4)], 10.5, 1.0, [1, 1, None, 4]),
        ([(7.1, 1), (8.1, None), (9.1, 3), (10.1, 4)], 10.5, 1.0, [1, None, 3, 4]),
        ([(3.0, 9), (7.1, 1)], 30.0, 1.0, [None] * 4),
        ([(4.0, 2), (5.0, 4), (6.0, 6), (7.0, 8), (8.0, 1), (9.0, 3), (10.0, 5), (11.0, 7)], 11.5, 2.0, [3, 7, 2, 6]),
        ([(10.0, 2), (11.0, None)], 11.5, 2.0, [None, None, None, 2]),
        ([(99.0, 2)], 11.5, 1.0, [None] * 4),
    ],
    ids=["none", "even", "jitter", "one late", "silent", "unknown", "long ago", "mean", "half known", "of the future"],
)
def test_spaced(reported: list[tuple[float, int | None]], now: float, step: float, values: list[float | None]) -> None:
    assert spaced(samples(*reported), field("utilization"), now, step, 4) == values


def test_what_was_drawn_does_not_change_as_time_goes_on() -> None:
    found = samples(*((float(at), at * at) for at in range(20)))
    before = spaced(found[:15], field("utilization"), 14.2, 2.0, 5)
    after = spaced(found[:17], field("utilization"), 16.2, 2.0, 5)
    assert after[:-2] == before[1:-1]
