"""Text and JSON say the same: each says all that the other says of every machine's findings."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from gpudoctor.report.model import Consequence, FindingEntry, FixEntry, Report, Summary, word
from gpudoctor.report.renderers import html, text
from gpudoctor.report.renderers import json as as_json
from tests.report.machines import MACHINES, of_machine
from tests.report.test_readers import HOSTILE


def _one(gpu: int, message: str) -> FindingEntry:
    return FindingEntry(
        check="device.needs-reset",
        status="fail",
        subject=f"GPU {gpu}",
        title="GPU requires reset",
        message=message,
        cause="It was stopped.",
        evidence=(f"Xid 79 of GPU {gpu}", "the same line"),
        fixes=(
            FixEntry(
                f"Reset GPU {gpu}.",
                (f"nvidia-smi -r -i {gpu}", "true"),
                root=True,
                impact="irreversible",
                undo="Never.",
            ),
        ),
        consequences=tuple(
            Consequence(check="pytorch.no-gpu", message=words) for words in ("It fails.", f"{gpu} fails.")
        ),
        affects=("everything",),
    )


FOLDED = tuple(_one(gpu, "It needs a reset." if gpu < 2 else f"It is gone since {gpu} hours.") for gpu in range(4))
FOLDED_REPORT = Report(status="fail", findings=FOLDED, summary=Summary(fail=4, consequences=8))
EVERY = pytest.mark.parametrize("report", [*MACHINES, "folded"], indirect=True)
# What the text says in its own words; everything else in a finding is JSON's.
OWN = (
    "FAIL WARN ADVICE also cause evidence fix or later effects id run ruled out see affects then careful needs root "
    "verify undo The same for and a new login - not the first of fixes above which is typed by hand"
)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """A report by its name."""
    return FOLDED_REPORT if request.param == "folded" else of_machine(request.param)


def even(words: str) -> str:
    """Words without line breaks."""
    return " ".join(words.split())


def rendered(report: Report, width: int) -> str:
    """The text, with a command that is typed for several GPUs at once on a line for each of them."""
    typed = {command for one in report.findings for fix in one.fixes for command in fix.commands}

    def lines() -> Iterator[str]:
        for line in text.render(report, width, verbose=True).splitlines():
            found = re.fullmatch(r"(.* -i )(\d+(?:,\d+)+)((?: .*)?)", line)
            if found is None or line.strip() in typed:
                yield line
            else:
                yield from (f"{found[1]}{number}{found[3]}" for number in found[2].split(","))

    return "\n".join(lines()) + "\n"


def document(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(as_json.render(report))
    return found


def said(finding: dict[str, Any]) -> Iterator[str]:
    """All that JSON says of a finding for a person to read."""
    yield from (finding[name] for name in ("title", "message", "cause", "check"))
    for name in ("evidence", "affects", "ruled_out", "references"):
        yield from finding[name]
    for fix in finding["fixes"]:
        yield fix["message"]
        yield from fix["commands"]
        yield from (fix[name] for name in ("verify", "undo") if fix[name])
        if fix["needs"] and not any(fix["needs"] in command for command in fix["commands"]):
            yield fix["needs"]
    yield from (one["message"] for one in finding["consequences"])
    if finding["run"]:
        yield finding["run"]


def groups(findings: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Findings that differ only in what they are about, together: they are told with the first."""
    found: dict[object, list[dict[str, Any]]] = {}
    for one in findings:
        fixes = tuple(re.sub(r"\d+", "", fix["message"]) for fix in one["fixes"])
        found.setdefault((one["check"], one["status"], one["title"], one["cause"], fixes), []).append(one)
    return list(found.values())


def firsts(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [group[0] for group in groups(findings)]


@EVERY
@pytest.mark.parametrize("width", [60, 100])
def test_the_text_says_all_that_json_says(report: Report, width: int) -> None:
    whole, lines = document(report), rendered(report, width)
    reported = even(lines)
    first = firsts(whole["findings"])
    for finding in whole["findings"]:
        for words in said(finding):
            if finding in first or words in finding["evidence"]:
                assert even(words) in reported
        if finding not in first:  # folded: named, or with a sentence of its own
            assert (
                even(finding["message"]) in reported
                or f"{finding['subject']}," in reported
                or f"{finding['subject']}." in reported
            )
            for command in (command for fix in finding["fixes"] for command in fix["commands"]):
                assert even(command) in reported
            assert all(even(one["message"]) in reported for one in finding["consequences"])
    for unknown in whole["unknown"]:
        assert even(f"{unknown['check']} ({unknown['subject']}): {unknown['reason']}") in reported
    assert all(even(sentence) in reported for sentence in whole["next"])
    _commands_stand_alone(lines, whole)
    _the_machine(reported, whole)


def _commands_stand_alone(lines: str, whole: dict[str, Any]) -> None:
    """A command is one line of the text, so that it can be copied."""
    typed = {line.strip() for line in lines.splitlines()}
    for fix in (fix for finding in firsts(whole["findings"]) for fix in finding["fixes"]):
        assert {line.strip() for command in fix["commands"] for line in command.splitlines()} <= typed


def _the_machine(reported: str, whole: dict[str, Any]) -> None:
    """The head names what JSON names."""
    for name in ("kernel", "driver", "driver_cuda", "toolkit", "distribution"):
        if value := whole["machine"][name]:
            assert str(value) in reported or name == "driver_cuda"  # without a driver that answers nobody asks for it
    for gpu in whole["gpus"]:
        assert gpu["name"] is None or even(gpu["name"]) in reported
    for framework in whole["frameworks"]:
        assert framework["version"] is None or framework["version"] in reported


@EVERY
def test_json_says_all_that_the_text_says(report: Report) -> None:
    reported = groups(document(report)["findings"])
    parts = list(_parts(rendered(report, 100)))
    assert len(parts) == len(reported)
    for part, group in zip(parts, reported, strict=True):
        left = even(part)
        strings = [even(words) for one in group for words in (*said(one), one["subject"])]
        for words in sorted({*strings, "irreversible", "data loss"}, key=len, reverse=True):
            left = left.replace(words, " ")
        left = re.sub(r"\((\d+) times\)", " ", left)
        assert [word for word in left.split() if word.strip("(),;.:") not in {"", *OWN.split()}] == []


def _parts(lines: str) -> Iterator[str]:
    """Each finding's lines of the text."""
    for part in re.split(r"\n\n", lines):
        if re.match(r"(FAIL|WARN|ADVICE) {2,}\S", part) and re.search(r"^id {8}", part, re.MULTILINE):
            yield part


@EVERY
def test_what_is_folded_is_counted(report: Report) -> None:
    whole = document(report)
    lines = text.render(report, 100, verbose=True)
    shown = Counter(match[1] for match in re.finditer(r"^id {8}(\S+)", lines, re.MULTILINE))
    assert shown == Counter(finding["check"] for finding in firsts(whole["findings"]))
    counts = Counter(finding["status"] for finding in whole["findings"])
    summary = whole["summary"]
    assert [summary[name] for name in ("fail", "warn", "advice")] == [counts[n] for n in ("fail", "warn", "advice")]
    assert summary["consequences"] == sum(len(finding["consequences"]) for finding in whole["findings"])
    for part, group in zip(_parts(lines), groups(whole["findings"]), strict=True):
        reported = even(part)
        for words, times in Counter(even(c["message"]) for one in group for c in one["consequences"]).items():
            assert (f"{words} ({times} times)" in reported) == (times > 1)
    last = next(
        line for line in reversed(lines.splitlines()) if re.match(r"(FAIL|WARN|PASS|INCOMPLETE|NO GPU) {2}", line)
    )
    assert last.startswith(f"{word(whole['status'])}  {summary['fail']} failed")


@EVERY
def test_the_page_says_all_that_json_says(report: Report) -> None:
    page = html.render(report)
    reported = unescape(even(re.sub(r"<[^>]+>", "", page)).replace("`", ""))
    whole = document(report)
    for finding in firsts(whole["findings"]):
        for words in said(finding):
            assert even(words).replace("`", "") in reported
    for unknown in whole["unknown"]:
        assert even(unknown["reason"]).replace("`", "") in reported


def test_strings_made_to_break_it_stay_in_both() -> None:
    lines, whole = text.render(HOSTILE, 100, verbose=True), document(HOSTILE)
    assert "\\x1b[31m" in lines
    assert "\x1b[31m" in whole["findings"][0]["message"]
    assert len(whole["findings"]) == 2
    assert lines.count("id        driver.library-mismatch") == 1
