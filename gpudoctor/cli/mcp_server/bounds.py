"""Keeps answers small: an assistant reads all of an answer, and pays for each word of it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpudoctor.cli.mcp_server.tools import CheckAnswer, FindingAnswer, FixAnswer
from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.report.renderers.header import header
from gpudoctor.report.renderers.text import console, written

TEXT_LIMIT = 20_000  # characters: 5,000 to 7,000 tokens
DATA_LIMIT = 12_000  # bytes of JSON
WIDTH = 100  # columns
NAMED = 20  # findings that are named where they are left out


def cut(text: str, hint: Callable[[str], str]) -> str:
    """The text, or its beginning with a sentence about what was left out.

    Args:
        text: the whole answer.
        hint: gets what is kept, and tells how to get the rest.
    """
    if len(text) <= TEXT_LIMIT:
        return text
    kept = text[:TEXT_LIMIT].rpartition("\n")[0] or text[:TEXT_LIMIT]
    lines = text[len(kept) :].strip("\n").count("\n") + 1
    left = len(text) - len(kept)
    return f"{kept}\n\n[{lines:,} lines ({left:,} of {len(text):,} characters) were left out here. {hint(kept)}]\n"


def left_findings(report: Report) -> Callable[[str], str]:
    """How to get the findings that a cut text does not name."""

    def hint(kept: str) -> str:
        ids = dict.fromkeys(one.check for one in report.findings)
        shown = {words[1] for words in map(str.split, kept.splitlines()) if words[:1] == ["id"] and words[1:]}
        missing = [id_ for id_ in ids if id_ not in shown]
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        named = f" Left out: {', '.join(missing[:NAMED])}{more}." if missing else ""
        return f'Call check with only: ["ID"] to see one finding or area.{named}'

    return hint


def check_answer(report: Report) -> CheckAnswer:
    """The report as data: as many findings as the limit allows, never a part of one."""
    out = console(WIDTH)
    header(out, report)
    answer = CheckAnswer(report.status, written(out), [], list(report.next), report.summary.unknown)  # type: ignore[arg-type]
    size = 0
    for entry in report.findings:
        one = _finding(entry)
        size += len(msgspec.json.encode(one))
        if size > DATA_LIMIT:
            answer.left_out = list(dict.fromkeys((*answer.left_out, entry.check)))
        else:
            answer.findings.append(one)
    return answer


def _finding(entry: FindingEntry) -> FindingAnswer:
    return FindingAnswer(
        check=entry.check,
        status=entry.status,  # type: ignore[arg-type]
        subject=entry.subject,
        message=entry.message,
        cause=entry.cause,
        fixes=[
            FixAnswer(fix.message, list(fix.commands), fix.root, fix.needs or "", fix.verify or "")
            for fix in entry.fixes
        ],
    )
