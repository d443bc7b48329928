"""Findings of one check about several things: the same illness of eight GPUs is told once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from gpudoctor.report.model import FindingEntry, FixEntry

_NUMBERS = re.compile(r"\d+")


def alike(findings: Iterable[FindingEntry]) -> list[tuple[FindingEntry, ...]]:
    """Findings that differ only in what they are about, together, at the place of the first.

    They are of one check and status, and their fixes say the same but for numbers.
    """
    groups: dict[object, list[FindingEntry]] = {}
    for entry in findings:
        said = tuple(_NUMBERS.sub("", fix.message) for fix in entry.fixes)
        groups.setdefault((entry.check, entry.status, entry.title, entry.cause, said), []).append(entry)
    return [tuple(group) for group in groups.values()]


def own_commands(entry: FindingEntry, fixes: Sequence[FixEntry], place: int) -> tuple[str, ...]:
    """What is to be typed for this one at a fix, and was not already said.

    Args:
        entry: one of the findings that are shown together.
        fixes: those of the first of them; each has as many.
        place: the fix's place among them.
    """
    reported = {command for fix in fixes for command in fix.commands}
    return tuple(dict.fromkeys(one for one in entry.fixes[place].commands if one not in reported))


def sentences(entry: FindingEntry, others: Iterable[FindingEntry]) -> list[str]:
    """What is said of the others; those of which the same is said as of the first are only named."""
    others = list(others)
    same = [one.subject for one in others if _without_subject(one) == _without_subject(entry)]
    rest = [one.message for one in others if one.subject not in same]
    return [f"{', '.join(same)}.", *rest] if same else rest


def evidence(group: Iterable[FindingEntry]) -> list[str]:
    """What was seen of findings that are shown as one: each line once, and none that a message quotes in full."""
    group = tuple(group)
    messages = "\n".join(entry.message for entry in group)
    return list(dict.fromkeys(line for entry in group for line in entry.evidence if line.rstrip(".") not in messages))


def effects(group: Iterable[FindingEntry]) -> dict[str, int]:
    """What follows from findings that are shown as one: each sentence, and how often it is true."""
    return Counter(one.message for entry in group for one in entry.consequences)


def _without_subject(entry: FindingEntry) -> str:
    return re.sub(rf"{re.escape(entry.subject)}\b", "", entry.message)
