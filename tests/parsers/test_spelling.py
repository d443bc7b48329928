"""The name that is meant."""

import pytest

from gpudoctor.parsers.spelling import nearest


@pytest.mark.parametrize(("name", "found"), [("colour", "colour"), ("color", "colour"), ("culture", None), ("", None)])
def test_nearest(name: str, found: str | None) -> None:
    assert nearest(name, ("colour", "shade"), 0.85) == found
