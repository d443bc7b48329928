"""Numbers in few words."""

import pytest

from gpudoctor.digits import in_runs


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((), ""),
        ((3,), "3"),
        ((0, 1), "0, 1"),
        ((0, 1, 2), "0-2"),
        ((7, 6, 0, 2, 1, 3, 3), "0-3, 6, 7"),
        ((0, 2, 4, 5, 6), "0, 2, 4-6"),
    ],
)
def test_three_that_follow_each_other_are_a_run(numbers: tuple[int, ...], text: str) -> None:
    assert in_runs(numbers) == text
