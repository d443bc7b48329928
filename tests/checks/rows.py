"""What the tests of this folder let the checks judge: the facts of all rows of their tables."""

import functools
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import tests.checks
from gpudoctor import check_engine
from gpudoctor.check_engine import About, Check, Outcome, Verdict
from gpudoctor.facts import Facts

Pair = tuple[Check[Any], Facts]
# They ask about the facts of all others, or of none.
APART = ("tests.checks.test_missing_facts",)


@functools.cache
def problems() -> list[Pair]:
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
    for info in pkgutil.walk_packages(tests.checks.__path__, "tests.checks."):
        if info.name in APART:
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
