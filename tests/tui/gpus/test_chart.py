"""Charts by tables: what is drawn for which values, and where a gap stays."""

import pytest

from gpudoctor.tui.gpus.chart import BLOCKS, DOTS, Glyphs, chart, meter

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "width", "height", "rows"),
    [
        ([], 2, 1, ["  "]),
        ([None, None], 1, 1, [" "]),
        ([0, 0], 1, 1, ["⣀"]),
        ([0, None], 1, 1, ["⡀"]),
        ([None, 0], 1, 1, ["⢀"]),
        ([NAN, 100], 1, 1, ["⢸"]),
        ([25, 50], 1, 1, ["⣠"]),
        ([75, 100], 1, 1, ["⣾"]),
        ([100, 100], 1, 2, ["⣿", "⣿"]),
        ([50, 62], 1, 2, ["⢀", "⣿"]),
        ([100], 2, 1, [" ⢸"]),
        ([0, 0, 100, None], 1, 1, ["⡇"]),
        ([100, None, None, 100], 2, 1, ["⡇⢸"]),
        ([-5, 900], 1, 2, ["⢸", "⣸"]),
        ([-1e300, float("inf")], 1, 1, ["⣸"]),
        ([1, 2], 0, 2, ["", ""]),
        ([1, 2], 3, 0, []),
    ],
)
def test_dots(values: list[float | None], width: int, height: int, rows: list[str]) -> None:
    assert chart(values, width, height, 0, 100) == rows


@pytest.mark.parametrize(
    ("values", "width", "height", "rows"),
    [
        ([0, 50, 100], 3, 1, ["▁▄█"]),
        ([0, None, 100], 3, 1, ["▁ █"]),
        ([100, 25], 3, 2, [" █ ", " █▄"]),
        ([1, 2, 3, 100], 1, 1, ["█"]),
    ],
)
def test_blocks(values: list[float | None], width: int, height: int, rows: list[str]) -> None:
    assert chart(values, width, height, 0, 100, BLOCKS) == rows


@pytest.mark.parametrize("glyphs", [DOTS, BLOCKS])
@pytest.mark.parametrize("size", [(1, 1), (7, 3), (66, 20)])
def test_every_size_is_filled(glyphs: Glyphs, size: tuple[int, int]) -> None:
    width, height = size
    rows = chart([50.0] * 1000, width, height, 0, 100, glyphs)
    assert [len(row) for row in rows] == [width] * height
    assert len(set(rows[: height // 2])) <= 1


def test_one_that_hangs_grows_from_the_top_and_blocks_stand_all_the_same() -> None:
    assert chart([25, 100], 1, 2, 0, 100, hanging=True) == ["⢻", "⢸"]
    assert chart([50], 1, 2, 0, 100, BLOCKS, hanging=True) == [" ", "█"]


def test_without_a_range_everything_lies_at_the_bottom() -> None:
    assert chart([3, 5], 1, 1, 5, 5) == ["⣀"]


@pytest.mark.parametrize(
    ("value", "width", "bar"),
    [
        (None, 10, ("", "")),
        (0, 4, ("", "────")),
        (0.1, 4, ("━", "───")),
        (50, 4, ("━━", "──")),
        (100, 4, ("━━━━", "")),
        (300, 4, ("━━━━", "")),
        (50, 0, ("", "")),
    ],
)
def test_a_meter(value: float | None, width: int, bar: tuple[str, str]) -> None:
    assert meter(value, 100, width) == bar


def test_what_a_file_claims_beyond_all_measure_is_a_full_bar() -> None:
    assert chart([1e300], 1, 1, 0.0, 1e-300) == ["⢸"]
    assert meter(1e300, 1e-300, 3) == ("━━━", "")
    assert meter(-1e300, 1e-300, 3) == ("", "───")
