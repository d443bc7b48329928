"""Where one fact is missing, no check breaks, and no sentence shows a hole or the program's insides.

The facts are those of this folder's own tests: each check is asked again about what it found a problem in, without one
of the parts that it read. By default each part of each check is missing once; with GPUDOCTOR_FUZZ=all in each of them.
"""

import importlib
import inspect
import itertools
import os
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import tests.checks
from gpudoctor import catalogue, check_engine
from gpudoctor.check_engine import About, Check, Outcome, Verdict
from gpudoctor.facts import Facts
from tests.missing import Reads, fault, gaps, sentences

EVERYTHING = os.environ.get("GPUDOCTOR_FUZZ") == "all"
Pair = tuple[Check[Any], Facts]


@pytest.mark.timeout(3600)  # with GPUDOCTOR_FUZZ=all, some minutes
def test_no_check_shows_that_a_fact_is_missing() -> None:
    pairs = _problems()
    assert {one.id for one, _ in pairs} >= set(catalogue.ids())
    done: set[object] = set()
    faults: dict[tuple[str, str], str] = {}
    for one, facts in pairs:
        with pytest.MonkeyPatch.context() as patch:
            reads = Reads(patch)
            plain = check_engine.run(one, facts)
        verbatim = {text for verdict in plain for text, _ in sentences(verdict)}
        outcomes = tuple(verdict.outcome for verdict in plain)
        for gap in gaps(facts):
            case = (one.id, gap.shape, repr(gap.value), outcomes)
            if gap.key not in reads.found or (case in done and not EVERYTHING):
                continue
            done.add(case)
            for what in _faults(check_engine.run(one, gap.in_(facts)), verbatim):
                faults.setdefault((one.id, what), f"{one.id}: {what} ({gap})")
    assert len(done) > 5000
    assert list(faults.values()) == []


def _faults(verdicts: list[Verdict], verbatim: set[str]) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.outcome is Outcome.BROKEN:
            yield f"broken: {verdict.message}"
            continue
        for text, command in sentences(verdict):
            found = None if text in verbatim else fault(text, command)
            if found:
                yield f"{found}: {text!r}"


def _problems() -> list[Pair]:
    """Each check with facts in which the tests of this folder let it find a problem: these tests are run."""
    found: dict[tuple[str, int], Pair] = {}
    ask = check_engine._ask

    def recorded(one: Check[Any], about: About, subject: Any) -> Verdict:
        verdict = ask(one, about, subject)
        facts = subject if isinstance(subject, Facts) else subject.facts
        if verdict.outcome is Outcome.PROBLEM:
            found.setdefault((one.id, id(facts)), (one, facts))
        return verdict

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_engine, "_ask", recorded)
        for test, row in _tests():
            test(**row)
    return list(found.values())


def _tests() -> Iterator[tuple[Any, dict[str, Any]]]:
    """The tests that need no fixture, with each row of their tables."""
    for info in pkgutil.iter_modules(tests.checks.__path__, "tests.checks."):
        if info.name == __name__:
            continue
        for name, test in inspect.getmembers(importlib.import_module(info.name), inspect.isfunction):
            if name.startswith("test_") and test.__module__ == info.name:
                rows = (dict(itertools.chain(*row)) for row in itertools.product(*_tables(test)))
                yield from ((test, row) for row in rows if set(row) == set(inspect.signature(test).parameters))


def _tables(test: Any) -> Iterator[list[list[tuple[str, Any]]]]:
    """The tables of a test, each row as pairs of name and value."""
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names = mark.args[0].replace(",", " ").split() if isinstance(mark.args[0], str) else list(mark.args[0])
            rows = (getattr(row, "values", row) if hasattr(row, "marks") else row for row in mark.args[1])
            yield [list(zip(names, row if len(names) > 1 else (row,), strict=True)) for row in rows]
