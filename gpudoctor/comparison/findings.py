"""What is wrong on one side only."""

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.comparison.model import Group, Row, State
from gpudoctor.report.clean import clean
from gpudoctor.report.model import Report

NOT_FOUND = "not found"


class Problem(NamedTuple):
    """A finding, or what follows from one."""

    check: str
    subject: str
    status: str
    says: str
    consequence: bool

    @property
    def text(self) -> str:
        """For people."""
        return clean(f"{self.status.upper()}: {self.says}" + (" (a consequence)" if self.consequence else ""))


def findings(here: Report, there: Report) -> list[Row]:
    """A row for each problem that only one side has, or that is another problem there: worst first."""
    left, right = _problems(here), _problems(there)
    pairs = [(left.get(key), right.get(key)) for key in dict.fromkeys((*left, *right))]
    pairs = list(_paired(pairs))
    pairs.sort(key=_rank)
    unanswered = [{u.check: u.why for u in report.unknown} for report in (here, there)]
    return [row for one, other in pairs if (row := _row(one, other, *unanswered))]


def _problems(report: Report) -> dict[tuple[str, str], Problem]:
    found = [Problem(f.check, f.subject, f.status, f.says, False) for f in report.findings]
    found += [Problem(c.check, c.subject, c.status, c.says, True) for f in report.findings for c in f.consequences]
    return {(p.check, p.subject): p for p in found}


Pair = tuple[Problem | None, Problem | None]


def _paired(pairs: list[Pair]) -> Iterator[Pair]:
    """Bring together what one check found on both sides, where it is not about a GPU.

    A framework is called by its version and path, which differ: its problem is the same.
    """
    waiting = {p.check: p for one, p in pairs if one is None and p is not None and not _of_gpu(p)}
    taken = set()
    for one, other in pairs:
        if one is not None and other is None and not _of_gpu(one) and one.check in waiting:
            other = waiting.pop(one.check)
            taken.add((other.check, other.subject))
            yield one, other
        elif one is not None:
            yield one, other
    yield from ((None, p) for one, p in pairs if one is None and p and (p.check, p.subject) not in taken)


def _of_gpu(problem: Problem) -> bool:
    return problem.subject.startswith(("GPU ", "the GPU at "))


def _rank(pair: Pair) -> tuple[bool, int]:
    """Roots before consequences, and the worse first."""
    problems = [p for p in pair if p is not None]
    worst = min(("fail", "warn", "advice").index(p.status) if p.status in ("fail", "warn") else 2 for p in problems)
    return all(p.consequence for p in problems), worst


def _row(one: Problem | None, other: Problem | None, here: dict[str, str], there: dict[str, str]) -> Row | None:
    """The row of a pair; None where both sides have the same problem."""
    problem = one or other
    if problem is None or (one and other and one.status == other.status):
        return None
    name = f"{problem.check} {problem.subject}" if problem.subject not in ("", "this machine") else problem.check
    state = State.DIFFERS
    if one is None:
        state = State.UNKNOWN_HERE if problem.check in here else State.ONLY_THERE
    elif other is None:
        state = State.UNKNOWN_THERE if problem.check in there else State.ONLY_HERE
    return Row(
        path=clean(name),
        group=Group.FINDINGS,
        state=state,
        here=one.text if one else _without(problem, here),
        there=other.text if other else _without(problem, there),
    )


def _without(problem: Problem, unanswered: dict[str, str]) -> str:
    why = unanswered.get(problem.check)
    return NOT_FOUND if why is None else clean(f"unknown: {why}")
