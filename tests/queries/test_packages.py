"""How a sentence about the first of several packages counts the others."""

import pytest

from gpudoctor.queries.packages import and_more


@pytest.mark.parametrize(("number", "text"), [(1, ""), (2, " (and 1 more package)"), (4, " (and 3 more packages)")])
def test_the_others_are_counted(number: int, text: str) -> None:
    assert and_more(["a"] * number) == text
