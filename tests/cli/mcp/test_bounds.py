"""Answers are no longer than an assistant should read, and tell what was left out."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import msgspec

import gpudoctor
from gpudoctor.cli.mcp_server.bounds import DATA_LIMIT, TEXT_LIMIT, check_answer, cut, left_findings
from gpudoctor.cli.mcp_server.tools import LARGEST_LOG, TOOLS, CheckAnswer, schema
from gpudoctor.report.model import FindingEntry, FixEntry, Report, Summary


def report(number: int) -> Report:
    """One with many findings."""
    fix = FixEntry("Do it.", ("echo " + "x" * 200,), root=True, needs="reboot", verify="true")
    findings = tuple(
        FindingEntry(
            check=f"area.check-{n}", status="fail", subject="this machine", title="", message="m" * 100, cause="",
            fixes=(fix, fix),
        )
        for n in range(number)
    )  # fmt: skip
    return Report(status="fail", findings=findings, summary=Summary(fail=number, unknown=3), next=("Fix it.",))


def test_what_fits_stays_as_it_is() -> None:
    assert cut("x\n" * (TEXT_LIMIT // 2), lambda _: "") == "x\n" * (TEXT_LIMIT // 2)


def test_what_is_cut_ends_with_a_whole_line_and_with_what_was_left_out() -> None:
    text = "".join(f"line {n}\n" for n in range(10_000))
    found = cut(text, lambda kept: f"Last: {kept.splitlines()[-1]}.")
    kept, _, rest = found.partition("\n\n[")
    assert len(kept) <= TEXT_LIMIT
    assert text.startswith(kept + "\n")
    left = 10_000 - len(kept.splitlines())
    assert rest == (
        f"{left:,} lines ({len(text) - len(kept):,} of {len(text):,} characters) were left out here. "
        f"Last: {kept.splitlines()[-1]}.]\n"
    )


def test_one_endless_line_is_cut_too() -> None:
    assert len(cut("x" * 1_000_000, lambda _: "")) < TEXT_LIMIT + 200


def test_findings_that_were_left_out_are_named() -> None:
    many = report(60)
    kept = "".join(f"id {one.check}\n" for one in many.findings[:35])
    hint = left_findings(many)(kept)
    assert 'only: ["ID"]' in hint
    assert "area.check-35, area.check-36" in hint
    assert hint.endswith("area.check-54 and 5 more.")


def test_one_id_within_another_is_not_taken_for_it() -> None:
    assert "area.check-1," not in left_findings(report(2))("id        area.check-1\nid        area.check-0\n")
    assert "Left out: area.check-1." in left_findings(report(12))("".join(
        f"id        area.check-{n}\n" for n in (0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
    ))  # fmt: skip


def test_the_data_hold_whole_findings_and_name_the_rest() -> None:
    many = report(60)
    answer = check_answer(many)
    assert len(msgspec.json.encode(answer.findings)) <= DATA_LIMIT + len(answer.findings) + 2
    assert 5 < len(answer.findings) < 60
    assert [one.check for one in answer.findings] + answer.left_out == [one.check for one in many.findings]
    assert answer.findings[-1].fixes[0].commands == ["echo " + "x" * 200]
    assert (answer.unknown, answer.notes) == (3, ["Fix it."])
    jsonschema.validate(msgspec.to_builtins(answer), schema(CheckAnswer))


def test_the_page_tells_the_limits() -> None:
    from gpudoctor.cli.mcp_server.server import AT_ONCE  # with the SDK, which takes a second

    check = TOOLS["check"].seconds
    page = " ".join((Path(gpudoctor.__file__).parent.parent / "docs" / "mcp.md").read_text().split())
    for sentence in (
        f"| text of an answer | {TEXT_LIMIT:,} characters",
        f"| findings as data | {DATA_LIMIT:,} bytes",
        f"| a text to explain | {LARGEST_LOG:,} characters",
        f"| a call | {check({}):.0f} seconds; {check({'full': True}):.0f} with `full`",
        f"| calls at a time | {AT_ONCE}; ",
    ):
        assert sentence in page
    for tool in TOOLS.values():
        given = ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(tool.arguments))
        assert f"| `{tool.name}` | {given} |" in page
