"""The report as JUnit XML: findings are failed test cases, unknowns are skipped ones.

The dialect is that of the XSD that Jenkins' xUnit plug-in publishes
(https://github.com/jenkinsci/xunit-plugin/tree/master/src/main/resources/org/jenkinsci/plugins/xunit/types).
"""

import re
from xml.sax.saxutils import escape, quoteattr

from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import clean
from gpudoctor.report.test_cases import Case, cases

# What XML 1.0 cannot hold at all (https://www.w3.org/TR/xml/#charsets).
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """One suite with a case for each finding, unknown and smoke test."""
    every = cases(report)
    failures, skipped = sum(bool(c.failure) for c in every), sum(bool(c.skipped) for c in every)
    counts = f'tests="{len(every)}" failures="{failures}" errors="0"'
    created = report.created.removesuffix("Z")
    stamp = f" timestamp={_attribute(created)}" if created else ""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="gpudoctor" {counts} time="{report.seconds:.3f}">',
        f'  <testsuite name="gpudoctor" {counts} skipped="{skipped}" time="{report.seconds:.3f}"{stamp}>',
        *(line for case in every for line in _case(case)),
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(case: Case) -> list[str]:
    time = f' time="{case.seconds:.3f}"' if case.seconds is not None else ""
    lines = [f"    <testcase classname={_attribute('gpudoctor.' + case.group)} name={_attribute(case.name)}{time}>"]
    if case.skipped:
        lines.append(f"      <skipped message={_attribute(case.skipped)}/>")
    if case.failure:
        first = case.failure.partition("\n")[0]
        text = _text(case.failure)
        lines.append(f"      <failure type={_attribute(case.kind)} message={_attribute(first)}>{text}</failure>")
    if case.notes:
        lines.append(f"      <system-out>{_text(case.notes)}</system-out>")
    return [*lines, "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(" ".join(_FORBIDDEN.sub("", clean(text)).split()))


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("", clean(text)))
