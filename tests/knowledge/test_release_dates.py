"""When the minor releases of packages came out."""

import re

import pytest

from gpudoctor.knowledge.release_dates import first_after, newest_at, release_dates, released


def test_each_row_is_in_order_and_whole() -> None:
    for name, text in release_dates().released.items():
        parts = text.split(", ")
        assert all(re.fullmatch(r"\d+(?:\.\d+){1,2} 20\d\d-\d\d-\d\d", part) for part in parts), name
        minors = [tuple(map(int, part.split(" ")[0].split("."))) for part in parts]
        assert minors == sorted(set(minors)), name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), "normalised (PEP 503)"


@pytest.mark.parametrize(
    ("name", "version", "day"),
    [
        ("peft", "0.14.0", "2024-12-06"),
        ("transformers", "4.40.2", "2024-04-18"),
        ("xformers", "0.0.33.post2", "2025-11-12"),
        ("peft", "99.1", ""),
        ("my-own", "1.0", ""),
    ],
)
def test_the_day_of_a_release(name: str, version: str, day: str) -> None:
    assert released(name, version) == day


def test_the_releases_around_a_day() -> None:
    assert newest_at("transformers", "2024-12-06") == "4.47"
    assert first_after("peft", "2024-04-18") == "0.11"
    assert newest_at("transformers", "2001-01-01") == ""
    assert first_after("transformers", "2999-01-01") == ""
    assert newest_at("my-own", "2024-12-06") == ""
