"""What the place says: why nothing can be run, what would run, and how a run ended."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.facts import Facts
from gpudoctor.maybe import known_or
from gpudoctor.smoketests.options import ChoiceError, SmokeOptions
from gpudoctor.smoketests.plan import TITLES, plan
from gpudoctor.tui.session import Session
from gpudoctor.tui.smoke.lines import ended, findings
from gpudoctor.tui.smoke.progress import Course, clock

MOST_NAMED = 3  # devices
RECORDED = "This is a recorded machine: tests cannot run on it."
NOT_RECORDED = (
    "No smoke tests were recorded. `gpudoctor check --smoke` or `gpudoctor smoke` runs them on the machine itself."
)
FIRST = "Select tests and press s to start. Results appear as tests finish."
ELSEWHERE = "The system under another root is checked: tests cannot run there."
NO_DRIVER = " The NVIDIA driver does not respond, so they will not start: Diagnosis (1) has the fix."
OLD = "The checks were re-run since: these figures are from before."


def hindrance(session: Session, here: bool) -> str:
    """Why no test can be started now; empty: they can.

    Args:
        session: the model.
        here: whether the running system is checked, not one under another root.
    """
    if not session.source.live:
        return RECORDED
    if not here:
        return ELSEWHERE
    if session.error:
        return (
            f"The checks failed, so the devices to test are unknown: {session.error}" if session.facts is None else ""
        )
    if session.facts is None or session.running:
        probes, of = session.progress
        return f"The checks are running ({probes} of {of} probes finished). Tests can start after that."
    return ""


def planned(facts: Facts | None, choice: SmokeOptions) -> str:
    """What would run, or the sentence why it cannot."""
    try:
        jobs = plan(facts, choice) if facts is not None else ()
    except ChoiceError as error:
        return str(error)
    count = sum(len(job.tests) for job in jobs)
    where: dict[str, list[str]] = {}
    for job in jobs:
        where.setdefault(TITLES[job.backend], []).append(job.target.label)
    parts = [f"{title} on {_listed(labels)}" for title, labels in where.items()]
    dead = facts is not None and known_or(facts.nvidia.cuda.code, 0) != 0
    more = NO_DRIVER if dead and any(job.target.kind == "cuda" for job in jobs) else ""
    return f"{count} test{'s' * (count != 1)}: {'; '.join(parts)}.{more}"


def _listed(labels: Sequence[str]) -> str:
    """Devices by name, many by their number."""
    labels = tuple(dict.fromkeys(labels))
    return ", ".join(labels) if len(labels) <= MOST_NAMED else f"{len(labels)} devices"


def came_out(course: Course) -> str:
    """How a run ended."""
    if course.error:
        return course.error
    line = ended(course.entries, course.stopped, len(findings(course.report)))
    took = clock(course.seconds(0)[1])
    return f"{line[:-1]}, after {took}."
