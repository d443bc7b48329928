"""Fixes that the rows of a table bring about are linted where the row is judged."""

from collections.abc import Iterator

import pytest

from gpudoctor.check_engine import Fix
from tests.tasks.lint import faults


@pytest.fixture(autouse=True)
def linted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold of each fix that a test has made that its commands can be typed."""
    made: list[Fix] = []
    held = Fix.__post_init__

    def note(self: Fix) -> None:
        held(self)
        made.append(self)

    monkeypatch.setattr(Fix, "__post_init__", note)
    yield
    assert sorted({fault for fix in made for fault in faults(fix)}) == []
