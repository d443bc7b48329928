"""The JSON document: one object, its names and its order a contract."""

import json

import msgspec

from gpudoctor.report.build import build
from gpudoctor.report.model import FindingEntry, FixEntry, Report, UnknownEntry
from gpudoctor.report.renderers.json import render
from tests.builders import framework, nvidia_host, with_framework

TOP = [
    "schema", "version", "status", "created", "seconds", "summary", "machine", "python", "pythons", "gpus",
    "frameworks", "findings", "unknown", "smoke", "cpu_gpu", "symptoms", "log_origin", "ranks", "next", "inventory",
    "not_tested", "driver_asked",
]  # fmt: skip


def test_the_names_at_the_top_stand_in_their_order() -> None:
    document = json.loads(render(Report()))
    assert list(document) == TOP
    assert document["schema"] == "gpudoctor.report/1"
    assert document["status"] == "incomplete"
    assert list(document["summary"]) == [
        "fail", "warn", "advice", "consequences", "unknown", "pass", "skipped", "broken",
    ]  # fmt: skip


def test_names_of_a_finding_and_of_a_fix() -> None:
    entry = FindingEntry(
        check="a.b", status="fail", subject="GPU 0", title="T", message="S.", cause="C.", fixes=(FixEntry("F."),)
    )
    (finding,) = json.loads(render(Report(findings=(entry,))))["findings"]
    assert list(finding) == [
        "check", "status", "subject", "title", "message", "cause", "evidence", "fixes", "run", "consequences",
        "affects",
        "ruled_out", "references",
    ]  # fmt: skip
    assert finding["fixes"] == [
        {
            "message": "F.", "commands": [], "action": None, "root": False, "needs": None, "impact": "reversible",
            "undo": None, "verify": None, "place": "here", "as_root": False, "tasks": [], "undo_tasks": [],
            "verify_task": None, "later": False,
        }
    ]  # fmt: skip


def test_a_report_is_read_back_as_it_was() -> None:
    report = build(with_framework(framework()), [])
    assert msgspec.json.decode(render(report), type=Report) == report


def test_nothing_in_it_moves_a_cursor() -> None:
    nasty = UnknownEntry(check="a.b", subject="\x1b[2J\x9b1m\u202e", reason="\x00\x7f")
    text = render(Report(unknown=(nasty,)))
    assert json.loads(text)["unknown"][0]["subject"] == nasty.subject
    assert not {c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e")}
    assert text.endswith("}\n")


def test_a_healthy_gpu_is_listed_as_numbers() -> None:
    (gpu,) = json.loads(render(build(nvidia_host(), [])))["gpus"]
    assert (gpu["index"], gpu["memory"], gpu["capability"]) == (0, 24 << 30, "8.9")
