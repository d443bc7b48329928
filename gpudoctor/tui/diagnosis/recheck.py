"""Whether one finding is fixed: which checks run again, and what their results mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from gpudoctor.report.model import FindingEntry, Report


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The result of re-checking one finding.

    Attributes:
        state: fixed, there, unknown.
        remark: a sentence for the detail.
        entry: the finding as it is reported now; None: it is not there any more, or not known to be.
    """

    state: str
    remark: str
    entry: FindingEntry | None = None

    @property
    def mark(self) -> str:
        """The words in the list."""
        return {"fixed": "✓ fixed", "there": "not fixed", "unknown": "unknown"}[self.state]


def asked(check: str, verdicts: Iterable[Any]) -> tuple[str, ...]:
    """The check and what may explain it, as CheckOptions.only takes them."""
    caused_by = next((verdict.check.caused_by for verdict in verdicts if verdict.check.id == check), ())
    return (check, *caused_by)


def outcome(old: FindingEntry, before: Report, now: Report) -> Trial:
    """What a second run of one check means for a finding.

    A subject may have another name now (PyTorch of another version): one that was not there before counts too.

    Args:
        old: the finding.
        before: the report that it is from.
        now: the report on its check and on what explains it.
    """
    known = {subject for subject, *_ in _problems(before, old.check)} - {old.subject}
    left = [one for one in _problems(now, old.check) if one[0] not in known]
    if left:
        return _still(*left[0])
    for unknown in now.unknown:
        mine = unknown.check == old.check and unknown.subject not in known
        if mine or unknown.check == "probe":
            return Trial(state="unknown", remark=f"Unknown this time: {unknown.reason}")
    return Trial(state="fixed", remark="Fixed: the check passes now. r re-runs all checks.")


def _still(_: str, finding: FindingEntry, message: str) -> Trial:
    """Of a consequence only its sentence is known, and that the cause comes first."""
    if message:
        return Trial(state="there", remark=f"Not fixed yet; it is now a consequence of: {finding.title}.")
    return Trial(state="there", remark="Not fixed yet: this is what the check found just now.", entry=finding)


def _problems(report: Report, check: str) -> Iterator[tuple[str, FindingEntry, str]]:
    """Subject, finding and, for a consequence, its sentence: of each problem of a check."""
    for finding in report.findings:
        if finding.check == check:
            yield finding.subject, finding, ""
        for one in finding.consequences:
            if one.check == check:
                yield one.subject, finding, one.message


def renewed(old: FindingEntry, trial: Trial) -> FindingEntry:
    """The finding as it is reported now, with the consequences that were not re-checked."""
    if trial.entry is None:
        return old
    return msgspec.structs.replace(trial.entry, consequences=old.consequences, ruled_out=old.ruled_out)
