"""The table of release dates, as its script writes it."""

import datetime
import json
from typing import Any

import msgspec

from gpudoctor.knowledge.release_dates import ReleaseDates
from scripts.release_dates import minors, written


def files(*days: str) -> list[dict[str, Any]]:
    return [{"upload_time": f"{day}T10:00:00", "filename": "x.whl"} for day in days]


def test_the_first_day_of_each_minor_release() -> None:
    releases = {
        "1.9.0": files("2024-03-01"),
        "1.10.1": files("2024-06-01"),
        "1.10.0": files("2024-05-02", "2024-05-01"),
        "1.11.0rc1": files("2024-07-01"),
        "1.12.0": [],
        "not a version": files("2024-08-01"),
        "0.1": files("2015-01-01"),
    }
    more = {"1.13.0": files("2024-09-01"), "2.0": files("2024-10-01")}
    assert minors(answer(releases | more)) == "1.9 2024-03-01, 1.10 2024-05-01, 1.13 2024-09-01, 2.0 2024-10-01"
    assert minors(answer(releases)) == "1.9.0 2024-03-01, 1.10.0 2024-05-01, 1.10.1 2024-06-01"


def answer(releases: dict[str, Any]) -> bytes:
    return json.dumps({"info": {}, "releases": releases}).encode()


def test_the_table_is_one_that_can_be_read() -> None:
    text = written({"b": "1.0 2024-01-01", "a": "0.1 2023-01-01"}, datetime.date(2026, 11, 29))
    table = msgspec.toml.decode(text, type=ReleaseDates, strict=False)
    assert list(table.released) == ["a", "b"]
