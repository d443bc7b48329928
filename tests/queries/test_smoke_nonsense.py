"""Facts files with nonsense about smoke tests break no check."""

from typing import Any

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge
from gpudoctor.facts import Facts
from gpudoctor.queries.smoke.limits import limit, sheet
from tests.checks import smoke_machines as m

CHECKS = [one for one in catalogue.load() if one.area == "smoke"]
ODD: list[Any] = [None, True, -1, 0, 1e300, 2**62, "", "x", [], {"unknown": "no"}]


def _leaves(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(node, dict):
        return [path, *(leaf for key, one in node.items() for leaf in _leaves(one, (*path, key)))]
    if isinstance(node, list):
        return [path, *(leaf for i, one in enumerate(node) for leaf in _leaves(one, (*path, i)))]
    return [path]


def _with(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = _with(node[path[0]], path[1:], value)
    return copy


def _small(facts: Facts) -> Facts:
    """A run with one test of each name, whose bodies are as they were."""
    run = facts.smoke.runs[0]
    first = {test.name: test for test in run.tests}
    return m.of_run(facts, tests=tuple(first.values()))


@pytest.mark.parametrize("machine", [_small(m.machine()), _small(m.machine(m.MI300X)), _small(m.between())])
def test_no_check_breaks(machine: Facts) -> None:
    tree = msgspec.json.decode(msgspec.json.encode(machine.smoke))
    read = 0
    for path in _leaves(tree):
        for odd in ODD:
            try:
                smoke = msgspec.convert(_with(tree, path, odd), type(machine.smoke))
            except msgspec.ValidationError:
                continue
            read += 1
            facts = msgspec.structs.replace(machine, smoke=smoke)
            broken = [(v.check.id, v.message) for v in judge(facts, CHECKS) if v.outcome is Outcome.BROKEN]
            assert broken == [], (path, odd)
            for run in facts.smoke.runs:
                for test in run.tests:
                    for figure in test.figures:
                        limit(facts, run, test, figure.name)
                        sheet(facts, run, test, figure.name)
    assert read > 100
