"""What a cause is about on each node, in sentences: a GPU, its PCI address, and what the node's report says of it."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.fleet.aggregate.nodeset_expansion import names
from gpudoctor.fleet.summary import AffectedTarget, Cause, NodeTargets
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import is_rule
from gpudoctor.report.numbers import number, spans

MOST = 256  # groups of nodes in a list
_NAMED = 4  # targets of a node that are listed with their addresses
_INDEX = pattern(r"(.*\bGPU )(\d{1,4})", re.DOTALL)


def of_node(cause: Cause, node: str) -> NodeTargets | None:
    """What a cause is about on a node; None: it was not kept."""
    return next((one for one in cause.targets if node in names(one.nodes, one.count)), None)


def narrowed(cause: Cause, node: str) -> Cause:
    """The cause in the words of one node's report; where they were not kept, those of the example after its name."""
    own = of_node(cause, node)
    named = is_rule(cause.check) or cause.check.startswith("fleet.")  # evidence that names the nodes of each line
    if own is not None:
        evidence = cause.evidence if named else own_evidence(own)
        return msgspec.structs.replace(cause, example=node, message=said(own), evidence=evidence, targets=())
    if node == cause.example or not cause.message:
        return cause
    evidence = cause.evidence if named else ()
    return msgspec.structs.replace(cause, message=f"{cause.example}: {cause.message}", evidence=evidence)


def where(target: AffectedTarget) -> str:
    """What a finding is about: "GPU 4 at 0000:05:00.0"."""
    if not target.address or target.address.lower() in target.subject.lower():
        return target.subject
    return f"{target.subject} at {target.address}"


def wheres(one: NodeTargets) -> str:
    """The same of all findings of a node; of many GPUs their indexes alone."""
    places = list(dict.fromkeys(map(where, one.targets)))
    return ", ".join(places if len(places) <= _NAMED else together(target.subject for target in one.targets))


def together(subjects: Iterable[str]) -> list[str]:
    """Subjects, each once; those that differ only in the number of a GPU as one: "GPUs 0 to 7"."""
    numbers: dict[str, list[int]] = {}
    for subject in dict.fromkeys(subjects):
        found = _INDEX.fullmatch(subject)
        numbers.setdefault(found[1] if found else subject, []).extend([int(found[2])] if found else [])
    several = {start: f"{start[:-1]}s {spans(sorted(set(some)), len(some))}" for start, some in numbers.items()}
    return [several[start] if len(some) > 1 else f"{start}{some[0]}" if some else start
            for start, some in numbers.items()]  # fmt: skip


def said(one: NodeTargets) -> str:
    """What the reports of some nodes say: which GPUs, and the message about the first."""
    (first, *others), message = one.targets, one.targets[0].message
    place = where(first)
    if not message:
        return wheres(one)
    if first.address and first.address.lower() not in message.lower():
        message = f"{place}: {message}"
    if others:
        message += f" Also {', '.join(_others(first, others))}." if _others(first, others) else ""
    return message


def _others(first: AffectedTarget, others: Sequence[AffectedTarget]) -> list[str]:
    places = [place for place in dict.fromkeys(map(where, others)) if place != where(first)]
    return places if len(places) <= _NAMED else together(one.subject for one in others)


def sentences(cause: Cause, most: int = MOST) -> list[str]:
    """A sentence for each group of nodes; those of one group that are all nodes name none.

    Args:
        cause: with the targets of its nodes.
        most: groups that are listed.
    """
    if len(cause.targets) <= 1:
        message = said(cause.targets[0]) if cause.targets and cause.targets[0].targets[0].message else cause.message
        return [f"{cause.example}: {message}" if cause.count == 1 or not cause.targets else message] if message else []
    found = [f"{one.nodes}: {said(one)}" for one in cause.targets[:most]]
    if left := sum(one.count for one in cause.targets[most:]):
        found.append(f"and {number(left)} more nodes, in CSV and JSON")
    if cause.message and not cause.targets[0].targets[0].message:
        found.insert(0, f"{cause.example}: {cause.message}")
    return found


def evidence(cause: Cause, most: int = MOST) -> tuple[str, ...]:
    """The evidence; where nodes have their own, after their names.

    Args:
        cause: with the targets of its nodes; those of an expectation name the nodes of each value themselves.
        most: groups that are listed.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in cause.targets:
        groups.setdefault(own_evidence(one), []).append(one.nodes)
    if len(groups) <= 1 or is_rule(cause.check):
        return cause.evidence
    lines = [f"{','.join(nodes)}: {line}" for seen, nodes in list(groups.items())[:most] for line in seen]
    return tuple(lines) or cause.evidence


def own_evidence(one: NodeTargets) -> tuple[str, ...]:
    """What was seen on some nodes, each line once."""
    return tuple(dict.fromkeys(line for target in one.targets for line in target.evidence))
