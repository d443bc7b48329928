"""Lists of processors."""

import pytest

from gpudoctor.parsers.cpu_list import processors


@pytest.mark.parametrize(
    ("text", "found"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("all", set()), ("0-", set()), ("3-1", set())],
)
def test_processors(text: str, found: set[int]) -> None:
    assert processors(text) == found


def test_a_list_without_end_ends() -> None:
    assert len(processors("0-99999999999")) == 8192
