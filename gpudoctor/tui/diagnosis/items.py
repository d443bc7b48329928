"""What the list can show: findings, what follows from each, and beneath them the checks that found nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gpudoctor.report.model import FindingEntry, Report, UnknownEntry

FINDINGS = ("fail", "warn", "advice")
OTHERS = ("broken", "unknown", "pass", "skipped")
WORDS = {
    "fail": "FAIL",
    "warn": "WARN",
    "advice": "ADVICE",
    "broken": "broken",
    "unknown": "unknown",
    "pass": "pass",
    "skipped": "n/a",
}
GROUPS = {
    "broken": "Errors in gpudoctor itself",
    "unknown": "Unknown",
    "pass": "Passed checks",
    "skipped": "Checks that do not apply to this machine",
}


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list.

    Attributes:
        key: names it from one report to the next.
        status: fail, warn, advice; broken, unknown, pass, skipped; of a consequence, its own.
        title: the headline; of a consequence, its sentence.
        check: the id.
        subjects: what it is about.
        message: of an unknown one, why; of a check that passed, its cause.
        finding: the root cause that it is or follows from.
        follows: whether it is a consequence.
        times: how many consequences say the same.
    """

    key: str
    status: str
    title: str
    check: str
    subjects: tuple[str, ...] = ()
    message: str = ""
    finding: FindingEntry | None = None
    follows: bool = False
    times: int = 1

    @property
    def area(self) -> str:
        """The area of its check."""
        return self.check.split(".")[0]

    @property
    def subject(self) -> str:
        """What it is about, in one phrase."""
        return ", ".join(self.subjects)


class ItemGroup(msgspec.Struct, frozen=True):
    """A root cause with its consequences, or a single line of another kind."""

    root: Item
    consequences: tuple[Item, ...] = ()


def groups(
    report: Report | None, verdicts: Iterable[Any] = (), renewed: Mapping[str, FindingEntry] | None = None
) -> list[ItemGroup]:
    """Everything that the list can show, in its order.

    Args:
        report: what was found; None: nothing yet.
        verdicts: what each check said, for those that passed or were skipped.
        renewed: by key, findings that were tried again and are told again.
    """
    if report is None:
        return []
    return [*_findings(report.findings, renewed or {}), *_unknown(report.unknown), *_quiet(tuple(verdicts))]


def _findings(entries: Sequence[FindingEntry], renewed: Mapping[str, FindingEntry]) -> Iterator[ItemGroup]:
    for key, entry in zip(_keys(f"{e.check} {e.subject}" for e in entries), entries, strict=True):
        reported = renewed.get(key, entry)
        root = Item(
            key=key,
            status=reported.status,
            title=reported.title,
            check=reported.check,
            subjects=(reported.subject,),
            finding=reported,
        )
        yield ItemGroup(root, tuple(_consequences(key, reported)))


def _consequences(key: str, entry: FindingEntry) -> Iterator[Item]:
    """Each sentence once, however many subjects it is said of."""
    said: dict[str, list[Any]] = {}
    for one in entry.consequences:
        said.setdefault(one.message, []).append(one)
    for message, ones in said.items():
        yield Item(
            key=f"{key} > {ones[0].check} {ones[0].subject} {message}",
            status=ones[0].status,
            title=message,
            check=ones[0].check,
            subjects=tuple(dict.fromkeys(one.subject for one in ones)),
            finding=entry,
            follows=True,
            times=len(ones),
        )


def _unknown(entries: Sequence[UnknownEntry]) -> Iterator[ItemGroup]:
    ordered = sorted(entries, key=lambda e: not e.broken)
    for key, one in zip(_keys(f"? {e.check} {e.subject}" for e in ordered), ordered, strict=True):
        title = f"The probe of {one.subject}" if one.check == "probe" else one.check
        status = "broken" if one.broken else "unknown"
        yield ItemGroup(
            Item(key=key, status=status, title=title, check=one.check, subjects=(one.subject,), message=one.reason)
        )


def _quiet(verdicts: tuple[Any, ...]) -> Iterator[ItemGroup]:
    """The checks that passed on each of their subjects, then those that had none."""
    by_check: dict[str, list[Any]] = {}
    for verdict in verdicts:
        by_check.setdefault(verdict.check.id, []).append(verdict)
    for wanted in ("pass", "skipped"):
        for id_, ones in by_check.items():
            outcomes = {str(one.outcome) for one in ones}
            if outcomes <= {"pass", "skipped"} and (wanted in outcomes) and (wanted == "pass" or len(outcomes) == 1):
                yield ItemGroup(_quiet_item(id_, wanted, ones))


def _quiet_item(id_: str, status: str, verdicts: list[Any]) -> Item:
    subjects = tuple(dict.fromkeys(v.about.label for v in verdicts)) if status == "pass" else ()
    check = verdicts[0].check
    return Item(
        key=f". {id_}", status=status, title=check.title or id_, check=id_, subjects=subjects, message=check.cause
    )


def _keys(names: Iterable[str]) -> list[str]:
    """Names of which none comes twice."""
    seen: Counter[str] = Counter()
    keys = []
    for name in names:
        seen[name] += 1
        keys.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return keys
