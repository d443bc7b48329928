"""Compares two sides: their findings, then their facts, or their reports where one side has no facts."""

from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.comparison.findings import findings
from gpudoctor.comparison.folding import folded
from gpudoctor.comparison.gpu_pairs import align
from gpudoctor.comparison.keyed import KeyedFigure, keyed
from gpudoctor.comparison.model import ORDER, Comparison, Difference, DifferenceGroup, DifferenceState
from gpudoctor.comparison.rules import FACTS, REPORT, ComparisonRule, rule_of
from gpudoctor.comparison.sides import ComparedMachine
from gpudoctor.comparison.value_text import is_unknown, text
from gpudoctor.facts import Facts
from gpudoctor.facts.units import unit_of
from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import clean

Path = tuple[str, ...]
ABSENT = object()  # one side has no entry of this name
# Lists whose order decides; that of others is chance.
ORDERED = ("sys_path", "providers", "copies")
SILENT = {"unknown": "not in the report"}


def compare(here: ComparedMachine, there: ComparedMachine) -> Comparison:
    """What differs between two machines, what matters first."""
    whole = here.facts is not None and there.facts is not None
    if here.facts is not None and there.facts is not None:
        one, other, renamed = _of_facts(here.facts, there.facts)
    else:
        one, other, renamed = _of_reports(here.report, there.report)
    ranked = sorted(_walk((), one, other, FACTS if whole else REPORT), key=lambda pair: pair[0])
    rows = [*findings(here.report, there.report, renamed), *folded(row for _, row in ranked)]
    rows.sort(key=lambda row: (ORDER[row.group], row.state.unknown))
    return Comparison(here=here.title, there=there.title, rows=tuple(rows), whole=whole)


Trees = tuple[Any, Any, dict[str, str]]  # both made comparable, and what the GPUs there are called here


def _of_facts(here: Facts, there: Facts) -> Trees:
    common = {python.path for python in here.pythons} & {python.path for python in there.pythons}
    trees = tuple(msgspec.to_builtins(facts) for facts in (here, there))
    renamed = align(*trees)
    one, other = (keyed(tree, by_path=bool(common)) for tree in trees)
    _without_rest(one, other)
    return one, other, renamed


def _of_reports(here: Report, there: Report) -> Trees:
    trees = tuple(msgspec.to_builtins(report) for report in (here, there))
    renamed = align(*trees)
    one, other = (_silent(keyed(tree)) for tree in trees)
    return one, other, renamed


def _without_rest(here: Any, there: Any) -> None:
    """Take out the links' present generation of GPUs that do not rest alike: a link slows down with its GPU."""
    gpus = [tree["gpus"] if isinstance(tree["gpus"], dict) else {} for tree in (here, there)]
    for one, other in ((gpus[0][name], gpus[1][name]) for name in gpus[0].keys() & gpus[1].keys()):
        if isinstance(one, dict) and isinstance(other, dict) and _rests(one) != _rests(other):
            one.pop("link_generation"), other.pop("link_generation")


def _rests(gpu: dict[str, Any]) -> Any:
    return gpu.get("performance_state"), gpu.get("utilization") == 0


def _silent(node: Any) -> Any:
    """A report's tree in which None is unknown: a report does not tell absent from unknown."""
    if isinstance(node, dict):
        return {key: _silent(value) for key, value in node.items()}
    return SILENT if node is None else node


def _walk(path: Path, here: Any, there: Any, rules: tuple[ComparisonRule, ...]) -> Iterator[tuple[int, Difference]]:
    """The differences below a place, each with the number of its rule."""
    if _equal(path, here, there):
        return
    rule = rule_of(rules, path) if path else ComparisonRule("**", DifferenceGroup.REST)
    if rule.group is None:
        return
    unknown = is_unknown(here), is_unknown(there)
    here, there = _full(here, there), _full(there, here)
    if not any(unknown) and isinstance(here, dict) and isinstance(there, dict) and not _one_sided(here, there):
        for name in dict.fromkeys((*here, *there)):
            yield from _walk((*path, name), here.get(name, ABSENT), there.get(name, ABSENT), rules)
    elif not all(unknown) and not _within(here, there, rule.within):
        yield (rules.index(rule) if rule in rules else len(rules)), _row(path, here, there, rule)


def _equal(path: Path, here: Any, there: Any) -> bool:
    if isinstance(here, list) and isinstance(there, list) and path[-1] not in ORDERED:
        return sorted(map(str, here)) == sorted(map(str, there))
    return type(here) is type(there) and bool(here == there)


def _full(value: Any, other: Any) -> Any:
    """An empty list as the empty dictionary that it would be with entries."""
    return {} if value == [] and isinstance(other, dict) else value


def _one_sided(here: dict[str, Any], there: dict[str, Any]) -> bool:
    """Whether one side has none of many settings, which is one difference and not so many."""
    if here and there:
        return False
    settings = (here or there).values()
    return len(settings) > 3 and all(isinstance(one, (str, int, float)) for one in settings)


def _within(here: Any, there: Any, most: float) -> bool:
    change = _change(here, there)
    return change is not None and max(abs(change), abs(_change(there, here) or 0.0)) <= most


def _change(here: Any, there: Any) -> float | None:
    """How much more there is than here."""
    if isinstance(here, KeyedFigure) and isinstance(there, KeyedFigure):
        return _change(here.value, there.value) if here.unit == there.unit else None
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (here, there))
    return (there - here) / abs(here) if numbers and here else None


def _row(path: Path, here: Any, there: Any, rule: ComparisonRule) -> Difference:
    unit = unit_of(path)
    one, other = _text(path, here, unit), _text(path, there, unit)
    if one == other:
        one, other = _text(path, here, unit, exact=True), _text(path, there, unit, exact=True)
    return Difference(
        path=clean(".".join(path)),
        group=rule.group or DifferenceGroup.REST,
        state=_state(here, there),
        here=one,
        there=other,
        change=_change(here, there) if unit or isinstance(here, KeyedFigure) else None,
    )


def _text(path: Path, value: Any, unit: str, exact: bool = False) -> str:
    """A value; an entry whose name stands in the path is told by what else it holds."""
    if value is ABSENT:
        return ""
    if isinstance(value, dict) and len(value) > 1:
        value = {name: one for name, one in value.items() if one != path[-1]}
    return text(value, unit, exact)


def _state(here: Any, there: Any) -> DifferenceState:
    if is_unknown(here):
        return DifferenceState.UNKNOWN_HERE
    if is_unknown(there):
        return DifferenceState.UNKNOWN_THERE
    if here is ABSENT:
        return DifferenceState.ONLY_THERE
    return DifferenceState.ONLY_HERE if there is ABSENT else DifferenceState.DIFFERS
