"""Whether one finding is mended: which checks are asked again, and what their answer means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from gpudoctor.report.model import FindingEntry, Report


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of trying one finding again.

    Attributes:
        state: mended, there, unknown.
        remark: a sentence for the detail.
        entry: the finding as it is told now; None: it is not there any more, or not known to be.
    """

    state: str
    remark: str
    entry: FindingEntry | None = None

    @property
    def mark(self) -> str:
        """The words in the list."""
        return {"mended": "✓ mended", "there": "still there", "unknown": "not known"}[self.state]


def asked(check: str, verdicts: Iterable[Any]) -> tuple[str, ...]:
    """The check and what may explain it, as CheckOptions.only takes them."""
    caused_by = next((verdict.check.caused_by for verdict in verdicts if verdict.check.id == check), ())
    return (check, *caused_by)


def outcome(old: FindingEntry, before: Report, now: Report) -> Trial:
    """What a second look at one check says of a finding.

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
            return Trial(state="unknown", remark=f"It could not be found out this time: {unknown.reason}")
    return Trial(state="mended", remark="Mended: the check does not find it any more. r examines everything again.")


def _still(_: str, finding: FindingEntry, message: str) -> Trial:
    """Of a consequence only its sentence is known, and that the cause comes first."""
    if message:
        return Trial(state="there", remark=f"Still there, and it follows from something else now: {finding.title}.")
    return Trial(state="there", remark="Still there: this is what was found just now.", entry=finding)


def _problems(report: Report, check: str) -> Iterator[tuple[str, FindingEntry, str]]:
    """Subject, finding and, for a consequence, its sentence: of each problem of a check."""
    for finding in report.findings:
        if finding.check == check:
            yield finding.subject, finding, ""
        for one in finding.consequences:
            if one.check == check:
                yield one.subject, finding, one.message


def renewed(old: FindingEntry, trial: Trial) -> FindingEntry:
    """The finding as it is told now, with the consequences of which nobody asked."""
    if trial.entry is None:
        return old
    return msgspec.structs.replace(trial.entry, consequences=old.consequences, ruled_out=old.ruled_out)
