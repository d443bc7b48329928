"""A report cut into its parts, and what is no report."""

from collections.abc import Callable

import msgspec
import pytest

from gpudoctor.fleet.aggregate.report_header import ReportError, head
from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.report.renderers.json import render
from tests.fleet.aggregate.reports import finding, report


@pytest.mark.parametrize("encode", [msgspec.json.encode, lambda one: render(one).encode()])
def test_the_parts(encode: Callable[[Report], bytes]) -> None:
    one = report(status="warn", findings=[finding()])
    found = head(encode(one))
    assert (found.status, found.created) == ("warn", one.created)
    assert msgspec.json.decode(found.findings, type=tuple[FindingEntry, ...]) == (finding(),)
    assert msgspec.json.decode(found.machine) == one.inventory.machine
    assert msgspec.json.decode(found.packages) == one.inventory.packages


def test_a_report_without_an_inventory() -> None:
    found = head(b'{"schema":"gpudoctor.report/1","status":"pass"}')
    assert (found.machine, found.listed, found.packages) == (b"{}", b"[]", b"{}")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "It is not a report: "),
        (b"not JSON", "It is not a report: JSON is malformed: "),
        (msgspec.json.encode(Report())[:-20], "It is not a report: Input data was truncated."),
        (b"[]", "It is not a report: Expected `object`, got `array`."),
        (b"{}", "It has the schema ''; this version reads gpudoctor.report/1."),
        (b'{"schema":"gpudoctor.facts/1"}', "It has the schema 'gpudoctor.facts/1'; this version reads"),
        (b'{"schema":"gpudoctor.report/1","status":"fine"}', "It has the status 'fine', which is not defined."),
        (b'{"schema":"gpudoctor.report/1","inventory":[]}', "It is not a report: Expected `object`, got `array`"),
        (b"\x00" * 100, "It is not a report: "),
        (b"[" * 100_000, "It is not a report: "),
    ],
)
def test_what_is_none(data: bytes, why: str) -> None:
    with pytest.raises(ReportError) as raised:
        head(data)
    assert str(raised.value).startswith(why)
    assert str(raised.value).endswith(".") or why.endswith("reads")
