"""Identical GPUs that the same backend ran on: each is compared with the others."""

from collections.abc import Iterator
from statistics import median

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts, SmokeRun
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.smoke import OnRun, called, gpu_runs
from gpudoctor.queries.smoke.speed import busy, idle

# The figures of each test that are speeds of the GPU alone; links differ by where a card sits.
FIGURES = {"matmul": ("rate",), "stress": ("rate",), "bandwidth": ("copy", "triad", "read")}


def runs_with_peers(facts: Facts) -> Iterator[tuple[About, OnRun]]:
    """Each backend on each GPU that has peers on which it also ran."""
    for about, on in gpu_runs(facts):
        if equals(on):
            yield about, on


def equals(on: OnRun) -> tuple[SmokeRun, ...]:
    """The runs of the same backend on the other GPUs of this product."""
    mine = on.gpu
    if mine is None or on.run.mig or not isinstance(mine.name, str):
        return ()
    found = []
    for run in on.facts.smoke.runs:
        other = OnRun(on.facts, run).gpu
        same = (run.backend, run.python, run.mig) == (on.run.backend, on.run.python, False)
        if same and other is not None and other is not mine and other.name == mine.name:
            found.append(run)
    return tuple(found)


def behind(on: OnRun) -> dict[str, float]:
    """Per test, the part of its idle peers' median speed that a GPU reaches.

    Raises:
        UnknownFactError: it was in use, or all of its equals were.
    """
    idle(on.facts, on.run)
    others = [speeds(run) for run in equals(on) if busy(run) is False]
    if not others:
        raise UnknownFactError("the peer GPUs were in use before the tests, or that is unknown")
    usual = {name: median(o[name] for o in others if name in o) for name in {name for o in others for name in o}}
    return {name: value / usual[name] for name, value in speeds(on.run).items() if usual.get(name)}


def speeds(run: SmokeRun) -> dict[str, float]:
    """The best speed of each test."""
    found = {}
    for test in run.tests:
        values = [v for name in FIGURES.get(test.name, ()) if (v := test.figure(name)) is not None]
        if test.outcome == "done" and values:
            found[called(test)] = max(values)
    return found
