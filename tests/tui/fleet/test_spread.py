"""Tests of the line on which a spread is drawn."""

import pytest

from gpudoctor.fleet.summary import Outlier, Spread
from gpudoctor.tui.fleet.box_plot import drawn, scale


def spread(*values: float, outliers: tuple[float, ...] = ()) -> Spread:
    """A spread of least, low, median, high, most."""
    least, low, median, high, most = values
    return Spread(
        hardware="h", figure="f", unit="GB/s", count=9, least=least, low=low, median=median, high=high, most=most,
        deviation=1.0, outliers=tuple(Outlier(node="n", device="GPU 0", value=v, deviations=9) for v in outliers),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "width", "wanted"),
    [
        (spread(0, 2, 5, 8, 10), 11, "──━━━┿━━━──"),
        (spread(0, 2, 5, 8, 10, outliers=(0,)), 11, "●─━━━┿━━━──"),
        (spread(5, 6, 7, 8, 10, outliers=(0,)), 11, "●    ─━┿━──"),
        (spread(3, 3, 3, 3, 3), 5, "  ┿  "),
        (spread(0, 2, 5, 8, 10), 0, ""),
    ],
)
def test_range_bulk_median_and_outliers(one: Spread, width: int, wanted: str) -> None:
    assert drawn(one, width) == wanted


def test_no_number_breaks_nothing() -> None:
    assert len(drawn(spread(float("nan"), 1, float("inf"), 2, 3, outliers=(float("-inf"),)), 20)) == 20


def test_the_ends_say_what_they_stand_for() -> None:
    one = spread(0, 2, 5, 8, 10, outliers=(12.5,))
    assert scale(one, 30) == f"0 {drawn(one, 18)} 12.5 GB/s"
    assert len(scale(one, 30)) == 30
    assert scale(one, 12) == "0 to 12.5 GB/s"
