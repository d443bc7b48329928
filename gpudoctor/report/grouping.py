"""Findings of one check about several things: the same illness of eight GPUs is told once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.report.model import FindingEntry, FixEntry

_NUMBERS = re.compile(r"\d+")
# "GPUs can be selected using comma separated GPU indexes" (https://docs.nvidia.com/datacenter/tesla/mig-user-guide/).
_OF_ONE = re.compile(r"((?:sudo )?nvidia-smi (?!nvlink )(?:.* )?-i )(\d+)((?: .*)?)")
_OF_SEVERAL = re.compile(r"(.* -i )(\d+(?:,\d+)+)((?: .*)?)")


def alike(findings: Iterable[FindingEntry]) -> list[tuple[FindingEntry, ...]]:
    """Findings that differ only in what they are about, together, at the place of the first.

    They are of one check and status, and their fixes say the same but for numbers.
    """
    groups: dict[object, list[FindingEntry]] = {}
    for entry in findings:
        said = tuple(_NUMBERS.sub("", fix.message) for fix in entry.fixes)
        groups.setdefault((entry.check, entry.status, entry.title, entry.cause, said), []).append(entry)
    return [tuple(group) for group in groups.values()]


def together(entry: FindingEntry, others: Sequence[FindingEntry]) -> tuple[FixEntry, ...]:
    """The fixes of the first, with the indexes of the others in commands of nvidia-smi that differ in nothing else.

    Args:
        entry: the first of the findings that are shown together.
        others: the rest of them; each has as many fixes.
    """

    def merged(fix: FixEntry, place: int) -> FixEntry:
        theirs = [other.fixes[place] for other in others]
        verify = [one.verify for one in theirs if one.verify]
        undo = [part for one in theirs for part in (one.undo or "").split("; ")]
        return msgspec.structs.replace(
            fix,
            commands=tuple(_of_all(one, [each for their in theirs for each in their.commands]) for one in fix.commands),
            verify=_of_all(fix.verify, verify) if fix.verify else fix.verify,
            undo="; ".join(_of_all(part, undo) for part in fix.undo.split("; ")) if fix.undo else fix.undo,
        )

    return tuple(merged(fix, place) for place, fix in enumerate(entry.fixes)) if others else entry.fixes


def _of_all(command: str, others: Iterable[str]) -> str:
    """A command with the indexes of those of the others that say the same of another GPU."""
    own = _OF_ONE.fullmatch(command)
    if own is None:
        return command
    same = [found for one in others if (found := _OF_ONE.fullmatch(one)) and (found[1], found[3]) == (own[1], own[3])]
    numbers = dict.fromkeys(found[2] for found in (own, *same))
    return f"{own[1]}{','.join(numbers)}{own[3]}"


def _of_each(command: str) -> tuple[str, ...]:
    """The command itself, and as it is typed for each of its GPUs."""
    found = _OF_SEVERAL.fullmatch(command)
    return (command, *(f"{found[1]}{number}{found[3]}" for number in found[2].split(","))) if found else (command,)


def own_commands(entry: FindingEntry, fixes: Sequence[FixEntry], place: int) -> tuple[str, ...]:
    """What is to be typed for this one at a fix, and was not already said.

    Args:
        entry: one of the findings that are shown together.
        fixes: those that are shown of the first of them; each has as many.
        place: the fix's place among them.
    """
    reported = {each for fix in fixes for command in fix.commands for each in _of_each(command)}
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
