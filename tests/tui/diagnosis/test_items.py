"""What can be listed, and what of it is shown."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.report.model import Report
from gpudoctor.tui.diagnosis.items import Item, ItemGroup, groups
from gpudoctor.tui.diagnosis.view import FindingFilter, Heading, Row, next_area, next_status, rows
from tests.tui.diagnosis.machines import MISMATCH, NARROW, REPORT, VERDICTS

ALL = groups(REPORT, VERDICTS)


def words(shown: list[Row]) -> list[str]:
    return [row.title if isinstance(row, Heading) else f"{row.status}: {row.check}" for row in shown]


def test_nothing_is_listed_before_there_is_a_report() -> None:
    assert groups(None) == []


def test_findings_come_first_then_what_is_broken_unknown_passed_and_skipped() -> None:
    assert [(g.root.status, g.root.check) for g in ALL] == [
        ("fail", "driver.library-mismatch"),
        ("warn", "link.narrow-pcie"),
        ("broken", "probe"),
        ("unknown", "device.ecc"),
        ("pass", "driver.not-loaded"),
        ("skipped", "wsl.old"),
    ]


def test_a_sentence_that_follows_for_two_subjects_is_one_line() -> None:
    assert [(one.title, one.times, one.subject) for one in ALL[0].consequences] == [
        ("PyTorch sees no GPU.", 1, "PyTorch 2.7.1"),
        ("JAX sees no GPU.", 2, "JAX 0.7, JAX 0.6"),
    ]


def test_a_check_without_a_title_is_called_by_its_id() -> None:
    assert ALL[-1].root.title == "wsl.old"


def test_two_findings_of_one_check_on_one_subject_have_two_keys() -> None:
    twice = msgspec.structs.replace(REPORT, findings=(NARROW, NARROW))
    assert len({g.root.key for g in groups(twice)}) == len(groups(twice))


def test_a_finding_that_was_tried_again_is_told_anew() -> None:
    again = msgspec.structs.replace(NARROW, message="8 of 16 lanes.")
    found = groups(REPORT, (), {ALL[1].root.key: again})[1].root.finding
    assert found is not None
    assert found.message == "8 of 16 lanes."


def test_consequences_and_other_checks_are_folded_away_at_first() -> None:
    assert words(rows(ALL, FindingFilter())) == ["fail: driver.library-mismatch", "warn: link.narrow-pcie"]


def test_a_finding_is_unfolded_and_folded_again() -> None:
    view = FindingFilter().toggled(ALL[0].root.key)
    assert words(rows(ALL, view))[:3] == ["fail: driver.library-mismatch", "fail: pytorch.no-gpu", "fail: jax.no-gpu"]
    assert view.toggled(ALL[0].root.key) == FindingFilter()


def test_the_other_checks_have_headings_with_their_number() -> None:
    assert words(rows(ALL, FindingFilter(others=True)))[2:] == [
        "Errors in gpudoctor itself (1)",
        "broken: probe",
        "Unknown (1)",
        "unknown: device.ecc",
        "Passed checks (1)",
        "pass: driver.not-loaded",
        "Checks that do not apply to this machine (1)",
        "skipped: wsl.old",
    ]


SEARCHES = [
    ("LANES", ["warn: link.narrow-pcie"]),
    ("modprobe", ["fail: driver.library-mismatch"]),  # a command
    ("(18)", ["fail: driver.library-mismatch"]),  # evidence
    ("jax", ["fail: driver.library-mismatch", "fail: jax.no-gpu"]),  # what follows from it stands beneath it
    ("nothing has this", []),
    ("[bold]", []),
]


@pytest.mark.parametrize(("text", "found"), SEARCHES)
def test_text_is_searched_in_all_that_is_said(text: str, found: list[str]) -> None:
    assert words(rows(ALL, FindingFilter(text=text))) == found


def test_filters_by_status_and_area() -> None:
    assert words(rows(ALL, FindingFilter(status="warn"))) == ["warn: link.narrow-pcie"]
    assert words(rows(ALL, FindingFilter(area="link"))) == ["warn: link.narrow-pcie"]
    assert words(rows(ALL, FindingFilter(area="jax"))) == ["fail: driver.library-mismatch", "fail: jax.no-gpu"]
    assert words(rows(ALL, FindingFilter(area="link", status="fail"))) == []


def _round(step: str, view: FindingFilter) -> list[str]:
    seen = []
    for _ in range(12):
        value = next_status(ALL, view) if step == "status" else next_area(ALL, view)
        view = msgspec.structs.replace(view, **{step: value})
        seen.append(value)
        if not value:
            break
    return seen


def test_a_key_goes_round_all_that_is_there() -> None:
    assert _round("status", FindingFilter()) == ["fail", "warn", ""]
    assert _round("status", FindingFilter(others=True)) == ["fail", "warn", "broken", "unknown", "pass", "skipped", ""]
    assert _round("area", FindingFilter()) == ["driver", "pytorch", "jax", "link", ""]


def test_a_status_that_went_away_goes_back_to_all() -> None:
    assert next_status(groups(Report(findings=(NARROW,))), FindingFilter(status="fail")) == ""
    assert next_status([], FindingFilter()) == ""


def test_only_filters_hold_something_back() -> None:
    assert not FindingFilter(others=True, unfolded=frozenset({"a"})).narrowed
    assert FindingFilter(text="a").narrowed
    assert FindingFilter(status="fail").narrowed
    assert FindingFilter(area="link").narrowed


def test_an_item_says_its_area() -> None:
    assert Item(key="k", status="fail", title="t", check=MISMATCH.check).area == "driver"
    assert ItemGroup(ALL[0].root).consequences == ()
