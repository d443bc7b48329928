"""Names in tables with a `*`."""

import pytest

from gpudoctor.name_pattern import any_stands_for, stands_for


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("torch", "torch", True),
        ("torch", "torchvision", False),
        ("torch*", "torchvision", True),
        ("torch*", "torch", True),
        ("*", "anything", True),
        ("torch*", "pytorch", False),
        ("jax-cuda*-plugin", "jax-cuda12-plugin", True),
        ("jax-cuda*-plugin", "jax-cuda12-pjrt", False),
        ("ab*ba", "aba", False),  # no letter is of both ends
        ("", "", True),
        ("", "torch", False),
    ],
)
def test_stands_for(pattern: str, name: str, expected: bool) -> None:
    assert stands_for(pattern, name) is expected


@pytest.mark.parametrize(("name", "expected"), [("torch", True), ("jax-cuda12-plugin", True), ("torchvision", False)])
def test_any_of_several(name: str, expected: bool) -> None:
    assert any_stands_for(("torch", "jax-cuda*-plugin", "cupy"), name) is expected
