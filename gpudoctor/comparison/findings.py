"""What is wrong on one side only."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpudoctor.comparison.gpu_pairs import called
from gpudoctor.comparison.model import Difference, DifferenceGroup, DifferenceState
from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import clean

NOT_FOUND = "not found"


class SideProblem(NamedTuple):
    """A finding, or what follows from one."""

    check: str
    subject: str
    status: str
    message: str
    consequence: bool

    @property
    def text(self) -> str:
        """For people."""
        return clean(f"{self.status.upper()}: {self.message}" + (" (a consequence)" if self.consequence else ""))


def findings(here: Report, there: Report, renamed: Mapping[str, str] = MappingProxyType({})) -> list[Difference]:
    """A row for each problem that only one side has, or that is another problem there: worst first.

    Args:
        here: what was judged of the one machine.
        there: what was judged of the other.
        renamed: what the GPUs there are called here, by their numbers there.
    """
    left, right = _problems(here, {}), _problems(there, renamed)
    pairs = [(left.get(key), right.get(key)) for key in dict.fromkeys((*left, *right))]
    pairs = list(_paired(pairs))
    pairs.sort(key=_rank)
    unanswered = _unanswered(here, {}), _unanswered(there, renamed)
    return [row for one, other in pairs if (row := _row(one, other, *unanswered))]


def _problems(report: Report, renamed: Mapping[str, str]) -> dict[tuple[str, str], SideProblem]:
    found = [SideProblem(f.check, f.subject, f.status, f.message, False) for f in report.findings]
    found += [
        SideProblem(c.check, c.subject, c.status, c.message, True) for f in report.findings for c in f.consequences
    ]
    found = [problem._replace(subject=called(problem.subject, renamed)) for problem in found]
    return {(p.check, p.subject): p for p in found}


class Unanswered(NamedTuple):
    """A question that a side could not answer."""

    check: str
    subject: str
    why: str


def _unanswered(report: Report, renamed: Mapping[str, str]) -> list[Unanswered]:
    return [Unanswered(u.check, called(u.subject, renamed), u.reason) for u in report.unknown]


def _why_unknown(problem: SideProblem, unanswered: list[Unanswered]) -> str | None:
    """Why a side does not know whether it has a problem; that of one GPU says nothing of another one's."""
    for one in unanswered:
        if one.check == problem.check and (one.subject == problem.subject or not (_of_gpu(one) and _of_gpu(problem))):
            return one.why
    return None


Pair = tuple[SideProblem | None, SideProblem | None]


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


def _of_gpu(problem: SideProblem | Unanswered) -> bool:
    return problem.subject.startswith(("GPU ", "the GPU at "))


def _rank(pair: Pair) -> tuple[bool, int]:
    """Roots before consequences, and the worse first."""
    problems = [p for p in pair if p is not None]
    worst = min(("fail", "warn", "advice").index(p.status) if p.status in ("fail", "warn") else 2 for p in problems)
    return all(p.consequence for p in problems), worst


def _row(
    one: SideProblem | None, other: SideProblem | None, here: list[Unanswered], there: list[Unanswered]
) -> Difference | None:
    """The row of a pair; None where both sides have the same problem."""
    problem = one or other
    if problem is None or (one and other and one.status == other.status):
        return None
    name = f"{problem.check} {problem.subject}" if problem.subject not in ("", "this machine") else problem.check
    blind = [None if side else _why_unknown(problem, questions) for side, questions in ((one, here), (other, there))]
    return Difference(
        path=clean(name),
        group=DifferenceGroup.FINDINGS,
        state=_state(one, other, blind),
        here=one.text if one else _without(blind[0]),
        there=other.text if other else _without(blind[1]),
    )


def _state(one: SideProblem | None, other: SideProblem | None, blind: list[str | None]) -> DifferenceState:
    if one and other:
        return DifferenceState.DIFFERS
    if one:
        return DifferenceState.ONLY_HERE if blind[1] is None else DifferenceState.UNKNOWN_THERE
    return DifferenceState.ONLY_THERE if blind[0] is None else DifferenceState.UNKNOWN_HERE


def _without(why: str | None) -> str:
    return NOT_FOUND if why is None else clean(f"unknown: {why}")
