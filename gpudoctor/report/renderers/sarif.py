"""The report as SARIF 2.1.0, for code scanning.

The standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

import hashlib
from typing import Any
from urllib.parse import quote

from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.report.sanitize import clean, document
from gpudoctor.report.test_cases import failure_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"fail": "error", "warn": "warning", "advice": "note"}


def render(report: Report) -> str:
    """One run, whose rules are the checks that found something."""
    rules = {entry.check: entry for entry in reversed(report.findings)}
    driver = {
        "name": "gpudoctor",
        "version": report.version or "0",
        "rules": [_rule(rules[id_]) for id_ in sorted(rules)],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "results": [_result(entry, sorted(rules).index(entry.check)) for entry in report.findings],
        "invocations": [_invocation(report)],
        "properties": {"verdict": report.status},
    }
    return document({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(entry: FindingEntry) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": entry.check,
        "shortDescription": {"text": _said(entry.title)},
        "fullDescription": {"text": _said(entry.cause)},
        "defaultConfiguration": {"level": LEVELS[entry.status]},
    }
    pages = [reference for reference in entry.references if reference.startswith("https://")]
    return rule | ({"helpUri": pages[0]} if pages else {})


def _result(entry: FindingEntry, index: int) -> dict[str, Any]:
    who = hashlib.sha256(f"{entry.check} {_said(entry.subject)}".encode()).hexdigest()
    return {
        "ruleId": entry.check,
        "ruleIndex": index,
        "level": LEVELS[entry.status],
        "message": {"text": _said(failure_text(entry))},
        "locations": [_location(entry.subject)],
        "partialFingerprints": {"checkAndSubject/v1": who},
    }


def _location(subject: str) -> dict[str, Any]:
    """What a finding is about; GitHub's code scanning refuses results without a place in a file, so there is one.

    https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support
    """
    place = {"artifactLocation": {"uri": f"machine/{quote(_said(subject), safe='')}"}, "region": {"startLine": 1}}
    return {"physicalLocation": place, "logicalLocations": [{"name": _said(subject), "kind": "resource"}]}


def _invocation(report: Report) -> dict[str, Any]:
    """Unknowns are notifications: the tool says that it could not look."""
    notes = [
        {
            "level": "warning" if one.essential else "note",
            "message": {"text": _said(f"{one.check} ({one.subject}): {one.reason}")},
            "descriptor": {"id": one.check},
        }
        for one in report.unknown
    ]
    ended = {"endTimeUtc": report.created} if report.created else {}
    return {"executionSuccessful": report.status != "incomplete", "toolExecutionNotifications": notes} | ended


def _said(text: str) -> str:
    return clean(text)
