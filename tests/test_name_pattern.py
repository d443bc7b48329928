"""Names in tables that may end with `*`."""

import pytest

from gpudoctor.name_pattern import stands_for


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("torch", "torch", True),
        ("torch", "torchvision", False),
        ("torch*", "torchvision", True),
        ("torch*", "torch", True),
        ("*", "anything", True),
        ("torch*", "pytorch", False),
        ("", "", True),
        ("", "torch", False),
    ],
)
def test_stands_for(pattern: str, name: str, expected: bool) -> None:
    assert stands_for(pattern, name) is expected
