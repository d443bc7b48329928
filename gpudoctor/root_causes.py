"""Orders causes before consequences: one root cause is one finding, with what follows from it under it."""

import re
from collections.abc import Iterable

import msgspec

from gpudoctor.check_engine import Outcome, Severity, Verdict
from gpudoctor.registry import AREAS, BY_AREA, EXPECT

PLACES = {area.name: place for place, area in enumerate(AREAS)}
_BEARABLE = {area.name for area in AREAS if area.bearable}
_CONTAINERS = {"containers"}
RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}


class Finding(msgspec.Struct, frozen=True):
    """A root cause and what follows from it."""

    root: Verdict
    severity: Severity  # the worst of root and consequences
    consequences: tuple[Verdict, ...]
    ruled_out: tuple[str, ...]


def findings(verdicts: Iterable[Verdict]) -> tuple[list[Finding], list[Verdict]]:
    """Sort problems into root causes with their consequences.

    Returns:
        The findings, by severity, and of one severity those with which frameworks start all the same last; and the
        unknown or broken verdicts that no problem explains.
    """
    everything = list(verdicts)
    problems = [v for v in everything if v.outcome is Outcome.PROBLEM]
    roots = sorted((v for v in problems if not _causes(v, problems)), key=_order)
    under: dict[int, list[Verdict]] = {id(v): [] for v in roots}
    for verdict in sorted(problems, key=_order):
        if id(verdict) in under:
            continue
        root = _root(verdict, problems, roots)
        if root is None:  # causes that go round in a circle: the first of them stands for all
            roots.append(verdict)
            under[id(verdict)] = []
        else:
            under[id(root)].append(verdict)
    found = [_finding(root, under[id(root)], everything) for root in roots]
    open_ = [v for v in everything if v.outcome in (Outcome.UNKNOWN, Outcome.BROKEN) and not _explained(v, problems)]
    return sorted(found, key=_place), open_


def _place(finding: Finding) -> tuple[object, ...]:
    check = finding.root.check
    mild = finding.severity is not Severity.ERROR and check.bearable and check.area not in _BEARABLE
    rank, place, *rest = _order(finding.root)
    return RANK[finding.severity], mild, _before_frameworks(finding, place), rank, *rest


def _before_frameworks(finding: Finding, place: int) -> float:
    """The place of its area; an import that fails ends a program, and comes before one that runs on the CPU."""
    problem = finding.root.problem
    dies = finding.severity is Severity.ERROR and problem is not None and (problem.failing or problem.breaks)
    return min(place, PLACES["pytorch"] - 0.5) if dies else place


def _explained(verdict: Verdict, problems: list[Verdict]) -> bool:
    """Whether a finding says already why nobody knows it; of an operator's rule they want to read it all the same."""
    return verdict.check.area != EXPECT and verdict.outcome is Outcome.UNKNOWN and bool(_causes(verdict, problems))


def _causes(verdict: Verdict, problems: list[Verdict]) -> list[Verdict]:
    """The problems that explain this one; of two that would explain each other, the deeper area wins.

    One that names the package whose import fails leaves the others out.
    """
    found = [
        other
        for other in problems
        if other is not verdict
        and _named(other, verdict)
        and verdict.may_follow_from(other.check.id)
        and other.about.touches(verdict.about)
        and not _of_another_framework(other, verdict)
        and not _of_another_vendor(other, verdict)
        and not _breaks_another_import(other, verdict)
        and not _mutual(other, verdict)
        and not _lighter_than_rule(other, verdict)
    ]
    failing = verdict.problem.failing if verdict.problem is not None else None
    own = [one for one in found if failing is not None and one.problem is not None and failing in one.problem.breaks]
    return own or found


def _named(cause: Verdict, verdict: Verdict) -> bool:
    """Whether the verdict's check names the cause: by its id, or as one of an area that touches the same people.

    An area named whole has checks about something else too: that Docker on this host lacks a toolkit explains
    nothing about the framework that runs next to it, and an advice explains no failure.
    """
    if not cause.check.explains:
        return False
    if cause.check.id in verdict.check.caused_by:
        return True
    lighter = cause.severity is Severity.ADVICE and verdict.severity is not Severity.ADVICE
    if lighter or _is_bearable(cause, verdict) or not verdict.check.explains_through(cause.check.id):
        return False
    touched, own = set(cause.check.affects), set(verdict.check.affects)
    if touched == _CONTAINERS:  # those that this host starts: nothing that runs on the host itself
        return own == _CONTAINERS
    return "everything" in touched | own or bool(touched & own)


def _is_bearable(cause: Verdict, verdict: Verdict) -> bool:
    """Whether the supposed cause leaves this as it is, or is a warning with which programs start all the same.

    A GPU that is hot, waits for a reset or is kept for the display explains no framework that fails to start; it may
    well explain a smoke test that failed while it computed.
    """
    if verdict.outcome is not Outcome.PROBLEM or verdict.severity is Severity.ADVICE or verdict.check.area == "smoke":
        return False
    if cause.check.breaks_imports and verdict.check.read_from_files:
        return True
    return cause.severity is Severity.WARNING and cause.check.bearable


def _of_another_framework(cause: Verdict, verdict: Verdict) -> bool:
    """Whether the supposed cause ails one framework, and a smoke test failed with another, or with none.

    What is wrong with one framework's files explains nothing about another framework either.
    """
    if cause.check.area == "python" and cause.about.package and verdict.about.package:
        return cause.about.package != verdict.about.package
    framework = cause.about.package if cause.check.area in BY_AREA else None
    return verdict.check.area == "smoke" and framework is not None and framework != verdict.about.package


def _of_another_vendor(cause: Verdict, verdict: Verdict) -> bool:
    """Whether the verdict is about a build for one vendor's GPUs, and the supposed cause ails another vendor's."""
    vendor, wanted = cause.check.vendor, verdict.about.vendor
    return wanted is not None and vendor is not None and vendor != wanted


def _breaks_another_import(cause: Verdict, verdict: Verdict) -> bool:
    """Whether the verdict is about the import of one package, and the supposed cause breaks that of others.

    It breaks more of them where their errors name what it lacks or breaks.
    """
    found, other = verdict.problem, cause.problem
    if found is None or found.failing is None or other is None or not other.breaks or found.failing in other.breaks:
        return False
    text = "\n".join((found.message, *found.evidence))
    return not any(re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text) for word in other.words)


def _mutual(cause: Verdict, verdict: Verdict) -> bool:
    """Whether the supposed cause names this one as its own cause and stands after it."""
    return cause.check.explains_through(verdict.check.id) and _order(cause)[1:] >= _order(verdict)[1:]


def _lighter_than_rule(cause: Verdict, verdict: Verdict) -> bool:
    """Whether an operator's rule is not met and the supposed cause is milder: the rule stands by itself, as it asks.

    That there is no GPU is an advice only where nothing asks for one; the rule does.
    """
    if verdict.check.area != EXPECT or verdict.outcome is not Outcome.PROBLEM or cause.check.id == "device.no-gpu":
        return False
    return RANK[cause.severity] > RANK[verdict.severity]


def _root(verdict: Verdict, problems: list[Verdict], roots: list[Verdict]) -> Verdict | None:
    """The first root cause that a chain of causes leads to."""
    reached, todo = {id(verdict)}, [verdict]
    while todo:
        for cause in _causes(todo.pop(), problems):
            if id(cause) not in reached:
                reached.add(id(cause))
                todo.append(cause)
    return next((root for root in roots if id(root) in reached), None)


def _order(verdict: Verdict) -> tuple[int, int, str, str]:
    area = verdict.check.area
    return RANK[verdict.severity], PLACES.get(area, len(AREAS)), verdict.check.id, verdict.about.label


def _finding(root: Verdict, consequences: list[Verdict], everything: list[Verdict]) -> Finding:
    worst = min((root, *consequences), key=lambda v: RANK[v.severity]).severity
    return Finding(root, worst, tuple(sorted(consequences, key=_order)), _ruled_out(root, everything))


def _ruled_out(root: Verdict, everything: list[Verdict]) -> tuple[str, ...]:
    """The causes that were looked at and seen to be well."""
    asked = {v.check.id for v in everything if v.outcome is Outcome.PASS}
    not_well = {v.check.id for v in everything if v.outcome in (Outcome.PROBLEM, Outcome.UNKNOWN, Outcome.BROKEN)}
    return tuple(sorted(i for i in asked - not_well if root.check.explains_through(i) and root.may_follow_from(i)))
