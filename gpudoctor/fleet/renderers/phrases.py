"""Words that the text and the page share: when, how many, how far nodes agree, which are outliers."""

from collections import Counter

from gpudoctor.expect.paths import path_of
from gpudoctor.fleet.ages import age_of, ages
from gpudoctor.fleet.aggregate.nodeset_expansion import shortened
from gpudoctor.fleet.aggregate.peers import FEWEST
from gpudoctor.fleet.aggregate.report_ages import USUAL, spelled
from gpudoctor.fleet.cause_fixes import fixes, of_all
from gpudoctor.fleet.cause_targets import MOST, evidence, sentences
from gpudoctor.fleet.explained import drifts
from gpudoctor.fleet.summary import Cause, Change, Drift, Fleet
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import is_rule
from gpudoctor.report.model import FindingEntry
from gpudoctor.report.numbers import moment, number

MARKS = {"worse": "-", "better": "+", "solved": "+", "appeared": "+", "vanished": "-", "cause": "-"}
# What is compared with an earlier summary, and is the same.
UNCHANGED = "No changes: the same states, causes, majority values and medians."
# States that people read otherwise: "failed" next to "fail" would be mistaken for a finding.
STATES = {"no-gpu": "NO GPU", "failed": "no report", "stale": "stale report", "cpu-only": "CPU only"}
WORDS = 14  # of a fix that is shown in short
_END = pattern(r"[.;](?:\s|$)|\s\(")  # of what its first sentence says at first
_WHERE = pattern(r"\AIf [^,.:;]*, ")  # for whom it is: that stands in the whole text
ROOM = 60  # letters of node names in a sentence
OFTEN = 5  # devices that are named because they are outliers in several figures


def named(state: str) -> str:
    """A state as people read it."""
    return STATES.get(state, state)


def when(fleet: Fleet) -> str:
    """When the reports were made."""
    if not fleet.newest:
        return ""
    between = f"{moment(fleet.oldest)} to " if fleet.oldest not in ("", fleet.newest) else ""
    old = ages(fleet)
    return f"reports of {between}{moment(fleet.newest)}" + (f" ({old})" if old else "")


def apart(fleet: Fleet) -> str:
    """What a pass does not show: healthy nodes that differ from their peers; empty: none does."""
    facts = len(drifts(fleet))
    figures = sum(bool(one.outliers) for one in fleet.spreads)
    parts = [
        *([f"configuration drift in {_some(facts, 'fact')}"] if facts else []),
        *([f"outliers in {_some(figures, 'measured figure')}"] if figures else []),
    ]
    return "; ".join(parts)


def hardware(fleet: Fleet) -> list[tuple[int, str, str]]:
    """How many nodes have which hardware, largest groups first; those that have lost GPUs by themselves, with names."""
    found = []
    for group in fleet.groups:
        left = group.count - sum(one.count for one in group.fewer)
        found += [(left, group.hardware, "")] if left else []
        found += [(one.count, one.value, one.nodes) for one in group.fewer]
    return found


def uncompared(fleet: Fleet) -> str:
    """Of which nodes nobody can say whether a GPU is missing; empty: of none."""
    if fleet.uncompared is None:
        return ""
    nodes = f"{count_of(fleet.uncompared.count)}, {shortened(fleet.uncompared.nodes, ROOM)}"
    return f"missing GPUs cannot be noticed on {nodes}: fewer than {FEWEST} identical nodes agree on a number of GPUs"


def outdated(fleet: Fleet) -> str:
    """That even the newest report is old; empty: it is not."""
    age = age_of(fleet.created, fleet.newest)
    if age is None or age <= USUAL:
        return ""
    then = f"no report is newer than {spelled(USUAL)}: this is how the nodes were then"
    return f"{then} (with --max-age, old reports count as unknown)"


def _some(count: int, what: str) -> str:
    return f"{number(count)} {what}{'s' * (count != 1)}"


def share(cause: Cause) -> str:
    """On how many nodes it is, and how often where a node has it several times."""
    times = f", {number(cause.times)} times" if cause.times > cause.count else ""
    return count_of(cause.count) + times


def titled(cause: Cause) -> str:
    """The title; of an expectation what is expected."""
    expected = cause.evidence[0].rpartition(": ")[2] if cause.evidence and is_rule(cause.check) else ""
    return f"{path_of(cause.title) or cause.title}: {expected}" if expected.startswith("expected ") else cause.title


def in_short(cause: Cause) -> str:
    """The first fix in some words; empty: there is none."""
    now = [fix for fix in fixes(cause) if not fix.later]
    text = _WHERE.sub("", now[0].message) if now else ""
    words = _END.split(text[:1].upper() + text[1:], maxsplit=1)[0].replace("`", "").split()
    return " ".join(words[:WORDS]) + ("..." if len(words) > WORDS else "")


def balance(fleet: Fleet) -> str:
    """How many nodes are worse and how many better than before; empty: none is."""
    words = (("worse", "worse"), ("better", "better"), ("appeared", "new"), ("vanished", "gone"))
    sums = ((sum(one.count for one in fleet.changes if one.kind == kind), word) for kind, word in words)
    parts = [f"{count_of(count)} {word}" for count, word in sums if count]
    return ", ".join(parts)


def first_changes(fleet: Fleet, most: int) -> list[Change]:
    """Some of the changes, in their order: of each kind, so that many that are bad do not hide what is solved."""
    each = Counter[str]()
    place: dict[int, tuple[int, int]] = {}
    for at, one in enumerate(fleet.changes):
        place[at] = each[one.kind], at
        each[one.kind] += 1
    return [fleet.changes[at] for at in sorted(sorted(place, key=place.__getitem__)[:most])]


def count_of(nodes: int) -> str:
    """So many nodes."""
    return f"{number(nodes)} node{'s' * (nodes != 1)}"


def agreement(drift: Drift) -> str:
    """How far nodes of like hardware agree."""
    if drift.majority:
        return f"{drift.majority} on {number(drift.count)} of {number(drift.known)}"
    if not drift.departures:
        return f"nearly every node differs ({number(drift.values)} values on {count_of(drift.known)})"
    return "no majority"


def often_apart(fleet: Fleet) -> list[tuple[str, str, int]]:
    """Node and device of outliers in several figures, and in how many; most often first."""
    times = Counter((one.node, one.device) for spread in fleet.spreads for one in spread.outliers)
    return [(node, device, count) for (node, device), count in times.most_common(OFTEN) if count > 1]


def as_finding(cause: Cause, most: int = MOST) -> FindingEntry:
    """A cause as a report shows its finding.

    Args:
        cause: the cause.
        most: groups of nodes whose own messages and evidence are listed.
    """
    return FindingEntry(
        check=cause.check,
        status=cause.status,
        subject=cause.example,
        title=cause.title,
        message="\n".join(sentences(cause, most)),
        cause=of_all(cause),
        evidence=evidence(cause, most),
        fixes=fixes(cause),
        run=cause.run if cause.check else "",
        references=cause.references,
    )
