"""Nodes without a report: reasons that are the same but for a node's name are one."""

import pytest

from gpudoctor.fleet.aggregate import missing_reports
from gpudoctor.fleet.aggregate.missing_reports import MissingReports


def _told(*given: tuple[str, str]) -> list[tuple[str, str]]:
    found = MissingReports()
    for node, why in given:
        found.add(node, "unreachable", why)
    return [(one.why, one.nodes) for one in found.entries()]


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ((("n1", "host n1 port 22: No route"), ("n2", "host n2 port 22: No route")),
         [("host NODE port 22: No route", "n[1-2]")]),
        ((("n1", "host n1 port 22: No route"),), [("host n1 port 22: No route", "n1")]),
        ((("n1", "host n10 is down"), ("n2", "host n10 is down")), [("host n10 is down", "n[1-2]")]),
        ((("n1", "n1: a"), ("n2", "n2: b")), [("n1: a", "n1"), ("n2: b", "n2")]),
        ((("a1.*(", "a1.*( is down"), ("b2.*(", "b2.*( is down")), [("NODE is down", "a1.*(,b2.*(")]),
        ((("a", "no route to a host"), ("b", "no route to a host"), ("", "no route to a host")),
         [("no route to a host", "a,b,")]),
    ],
)  # fmt: skip
def test_a_reason_that_names_the_node(given: tuple[tuple[str, str], ...], reported: list[tuple[str, str]]) -> None:
    assert sorted(_told(*given)) == sorted(reported)


def test_a_reason_of_our_own_names_no_node() -> None:
    found = MissingReports()
    for node in ("x1", "x2"):
        found.add(node, "unreadable", "It is not a report: got x1.")
    assert [(one.why, one.count) for one in found.entries()] == [("It is not a report: got x1.", 2)]


def test_more_reasons_than_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_reports, "MOST", 2)
    assert _told(*((f"n{number}", f"reason {letter}") for number, letter in enumerate("abcd"))) == [
        ("There are more reasons than can be listed.", "n[2-3]"), ("reason a", "n0"), ("reason b", "n1"),
    ]  # fmt: skip
