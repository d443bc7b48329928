"""How old reports are, in hours and days."""

import pytest

from gpudoctor.fleet.ages import ages
from gpudoctor.fleet.summary import Fleet

NOW = "2026-11-23T12:00:00Z"


@pytest.mark.parametrize(
    ("oldest", "newest", "words"),
    [
        ("2026-11-23T11:10:00Z", "2026-11-23T11:50:00Z", ""),
        ("2026-11-23T10:50:00Z", "2026-11-23T11:50:00Z", "0 to 1 hour old"),
        ("2026-11-23T10:50:00Z", "2026-11-23T10:55:00Z", "1 hour old"),
        ("2026-11-21T02:00:00Z", "2026-11-22T02:00:00Z", "34 to 58 hours old"),
        ("2026-11-01T12:00:00Z", "2026-11-22T12:00:00Z", "24 hours to 22 days old"),
        ("2026-11-01T12:00:00Z", "2026-11-03T12:00:00Z", "20 to 22 days old"),
        ("", "2026-11-22T12:00:00Z", "24 hours old"),
        ("2026-11-22T12:00:00Z", "", ""),
        ("not a time", "2026-11-22T12:00:00Z", ""),
    ],
)
def test_ages(oldest: str, newest: str, words: str) -> None:
    assert ages(Fleet(created=NOW, oldest=oldest, newest=newest)) == words
