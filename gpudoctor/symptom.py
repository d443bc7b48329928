"""Joins a message that somebody saw to a report: it reorders and attaches, and never makes a finding."""

import msgspec

from gpudoctor.knowledge.symptoms import recognise
from gpudoctor.report.model import FindingEntry, Report

# A whole training log is not needed to recognise a message.
LIMIT = 1 << 20


def attach(report: Report, text: str) -> Report:
    """The report with the findings that explain the message first, and with what the message means."""
    found = recognise(text[:LIMIT])
    wanted = [check for symptom in found for check in symptom.checks]
    first = [f for f in report.findings if _explains(f, wanted)]
    rest = [f for f in report.findings if not _explains(f, wanted)]
    lines = [f"The message means: {symptom.meaning}." for symptom in found]
    if not found:
        lines.append("The message is not one that gpudoctor knows.")
    elif not first:
        lines.append("Nothing that was found here explains it: the cause may lie in the program, or be gone.")
        ids = list(dict.fromkeys(check for check in wanted if not check.endswith(".*")))[:3]
        lines += [f"What can cause it: `gpudoctor explain {id_}`." for id_ in ids]
    else:
        lines.append(f"What fits it here: {first[0].title}.")
    return msgspec.structs.replace(report, findings=(*first, *rest), next=(*lines, *report.next))


def _explains(finding: FindingEntry, wanted: list[str]) -> bool:
    ids = [finding.check, *(one.check for one in finding.consequences)]
    return any(i == w or (w.endswith(".*") and i.startswith(w[:-1])) for i in ids for w in wanted)
