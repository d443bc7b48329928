"""Machines with two troubles at once: what makes one check speak, put on top of what makes another speak.

The troubles are those of the tables in tests/checks. Of the facts of each row only the few are kept without which the
check says nothing, as changes of a healthy machine; two such sets of changes on one machine are a machine with both.
"""

import functools
import itertools
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, Outcome, Verdict, is_foreign, run
from gpudoctor.facts import Facts
from gpudoctor.root_causes import findings
from tests.builders import framework, nvidia_host, plain_host, with_framework
from tests.causes.more import more
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.checks.amd_machines import amd_host
from tests.checks.apple.test_apple import mac
from tests.checks.apple.test_apple import torch as apple_torch
from tests.checks.container.test_container import inside
from tests.checks.environments import environment, torch
from tests.checks.intel_machines import arc_host, xpu
from tests.checks.rows import problems
from tests.checks.windows.test_windows import windows
from tests.checks.wsl.test_wsl import wsl

Path = tuple[str | int, ...]
Changes = list[tuple[Path, object]]
MORE = "+"  # in a path: one more of a list
LARGEST = 60  # changes; what differs more from every healthy machine is another machine
ALIKE = 8  # healthy machines of which the nearest are looked for
NEAREST = 2  # healthy machines with which a row is compared
ROWS = 1, 3, 8, 40  # of one check whose changes are worked out: more where these are not enough


_NEAR: dict[int, list[tuple[Changes, int]]] = {}
_ROWS: dict[str, tuple[list[Facts], Iterator[Facts]]] = {}


class Trouble(NamedTuple):
    """What makes a check find a problem: changes of a healthy machine, none of which can be left out."""

    changes: Changes
    healthy: Facts


@functools.cache
def bases() -> tuple[Facts, ...]:
    """The healthy machines."""
    return (
        nvidia_host(),
        with_framework(framework()),
        plain_host(),
        amd_host(),
        environment(torch()),
        wsl(),
        nv.several(1),
        nv.several(2, 0),
        nv.hgx(nv.H100, 4),
        inside(nvidia_host()),
        nvidia_host(2),
        smoke.machine(),
        smoke.machine(count=4),
        smoke.between(),
        arc_host(xpu()),
        environment(),
        *(environment(framework(name)) for name in ("tensorflow", "cupy", "jax", "onnxruntime")),
        mac(),
        mac(apple_torch()),
        windows(),
        windows(framework()),
        *(smoke.machine(backends=(name,)) for name in ("tensorflow", "cupy", "jax")),
    )


@functools.cache
def troubles(id_: str, most: int) -> list[Trouble]:
    """Of one check and so many of its rows at most, the smallest first."""
    found = {
        repr((one.changes, id(one.healthy))): one
        for number in range(len(rows(id_, most)))
        for one in _of_row(id_, number)
    }
    return sorted(found.values(), key=lambda trouble: len(trouble.changes))


@functools.cache
def _of_row(id_: str, number: int) -> list[Trouble]:
    one, found = asked(id_), list[Trouble]()
    for changes, nearest in _nearest(rows(id_, number + 1)[number]):
        base = bases()[nearest]
        if _speaks(one, base):
            continue
        for change in changes:
            fewer = [other for other in changes if other is not change]
            if _speaks(one, _changed(base, fewer)):
                changes = fewer
        found.append(Trouble(changes, base))
    return found


def _nearest(facts: Facts) -> list[tuple[Changes, int]]:
    """What differs from the healthy machines that are most like it, with their numbers; none where too much does."""
    if id(facts) not in _NEAR:
        alike = sorted(enumerate(bases()), key=lambda one: _parts_that_differ(facts, one[1]))[:ALIKE]
        every = [(_differences(facts, base), number) for number, base in alike]
        like = [one for one in every if len(one[0]) <= LARGEST]
        _NEAR[id(facts)] = sorted(like, key=lambda one: len(repr(one[0])))[:NEAREST]
    return _NEAR[id(facts)]


def _parts_that_differ(facts: Facts, base: Facts) -> int:
    return sum(getattr(facts, name) != getattr(base, name) for name in facts.__struct_fields__)


def rows(id_: str, most: int) -> list[Facts]:
    """The first facts of all tables in which a check finds a problem; those of its own tests come first."""
    found, rest = _ROWS.setdefault(id_, ([], _finding(id_)))
    for facts in itertools.islice(rest, max(0, most - len(found))):
        found.append(facts)
    return found[:most]


def _finding(id_: str) -> Iterator[Facts]:
    """They are looked for as far as somebody asks: most causes are seen in the first."""
    one, last = asked(id_), None
    own = [facts for check, facts in problems() if check.id == id_]
    others = {id(facts): facts for _, facts in problems()}.values()
    for table in ((f for f in _more() if _speaks(one, f)), own, (f for f in others if _speaks(one, f))):
        for facts in table:
            if facts != last:
                yield facts
            last = facts


@functools.cache
def _more() -> list[Facts]:
    return more()


def asked(id_: str) -> Check[Any]:
    """The check of this id."""
    (one,) = catalogue.load([id_])
    return one


def _speaks(one: Check[Any], facts: Facts | None) -> bool:
    """Whether the check finds a problem: what `run` would show, without its fixes."""
    if facts is None or is_foreign(one, facts):
        return False
    with suppress(Exception):
        return any(_is_problem(one, subject) for _, subject in one.targets(facts))
    return False


def _is_problem(one: Check[Any], subject: object) -> bool:
    try:
        return one(subject) is not None
    except Exception:
        return False


def _differences(facts: Any, base: Any) -> Changes:
    """The values in which facts differ from others, with their paths."""
    found: Changes = []
    _differ(facts, base, (), found)
    return found


def _differ(facts: Any, base: Any, path: Path, found: Changes) -> None:
    if facts is base or len(found) > LARGEST or (type(facts) is type(base) and facts == base):
        return
    if isinstance(facts, msgspec.Struct) and type(facts) is type(base):
        for name in facts.__struct_fields__:
            _differ(getattr(facts, name), getattr(base, name), (*path, name), found)
    elif isinstance(facts, tuple) and facts and isinstance(base, tuple) and len(facts) == len(base):
        for index, (mine, theirs) in enumerate(zip(facts, base, strict=True)):
            _differ(mine, theirs, (*path, index), found)
    elif isinstance(facts, tuple) and isinstance(base, tuple) and facts[: len(base)] == base:
        found.extend(((*path, MORE), one) for one in facts[len(base) :])
    elif isinstance(facts, dict) and isinstance(base, dict) and base.keys() <= facts.keys():
        found.extend(((*path, name), value) for name, value in facts.items() if base.get(name) != value)
    else:
        found.append((path, facts))


def _changed(facts: Facts, changes: Changes) -> Facts | None:
    """The facts with these changes; None where a place that is to change is not there."""
    for path, value in changes:
        try:
            facts = _put(facts, path, value)
        except (AttributeError, IndexError, TypeError):
            return None
    return facts if _is_possible(facts) else None


def _is_possible(facts: Facts) -> bool:
    """Whether nothing stands in the lists twice that a machine has once."""
    gpus = facts.gpus if isinstance(facts.gpus, tuple) else ()
    cards = facts.pci if isinstance(facts.pci, tuple) else ()
    once: list[list[Any]] = [[p.path for p in facts.pythons], [(g.vendor, g.index) for g in gpus]]
    once.append([c.address for c in cards])
    once.extend([f.name for f in p.frameworks] for p in facts.pythons)
    return all(len(set(one)) == len(one) for one in once)


def _put(node: Any, path: Path, value: object) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if head == MORE:
        return (*node, value)
    if isinstance(node, dict):
        return {**node, head: value}
    if isinstance(head, int):
        return (*node[:head], _put(node[head], rest, value), *node[head + 1 :])
    return msgspec.structs.replace(node, **{head: _put(getattr(node, head), rest, value)})


def machines(consequence: str, cause: str, most: int) -> Iterator[Facts]:
    """The machines that have both troubles, of so many rows each, as far as one can be put on top of the other."""
    for below in troubles(cause, most):
        for above in troubles(consequence, most):
            for first, second in ((above, below), (below, above)):
                facts = _changed(first.healthy, [*first.changes, *second.changes])
                if facts is not None:
                    yield facts


def verdicts(facts: Facts, checks: Iterable[Check[Any]]) -> list[Verdict]:
    """What these checks say of a machine, as far as it is a problem."""
    return [v for one in checks for v in run(one, facts) if v.outcome is Outcome.PROBLEM]


def is_explained(consequence: Check[Any], cause: Check[Any]) -> bool:
    """Whether on a machine with both troubles the one stands under the other, by itself."""
    every = (facts for most in ROWS for facts in machines(consequence.id, cause.id, most))
    return any(_stands_under(consequence, cause, facts) for facts in every)


def _stands_under(consequence: Check[Any], cause: Check[Any], facts: Facts) -> bool:
    below = verdicts(facts, (cause,))
    above = verdicts(facts, (consequence,)) if below else []
    return bool(above) and any(
        found.root.check is cause and any(one.check is consequence for one in found.consequences)
        for found in findings([*above, *below])[0]
    )


def is_excused(consequence: Check[Any], cause: Check[Any]) -> bool:
    """Whether a problem of the one check is why the other cannot say anything, and so nothing is open there."""
    for facts in rows(cause.id, sys.maxsize):
        unknown = [v for v in run(consequence, facts) if v.outcome is Outcome.UNKNOWN]
        if unknown and len(findings([*verdicts(facts, (cause,)), *unknown])[1]) < len(unknown):
            return True
    return False
