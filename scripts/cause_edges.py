"""Reports which edges of `caused_by` any machine needs: without the edge, its report would be another.

    python scripts/cause_edges.py [--left]

A machine is one of tests/machines, a demo, or one with two troubles that tests/causes/composed.py makes. An edge counts
once as it is written: what stands in a group of queries/*cause_groups.py once for all checks that take the group, and
"driver.*" once for its whole area. --left lists those that no machine needs: give such an edge a machine
(tests/causes/more.py), or delete it where the two cannot hold on one machine.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gpudoctor import catalogue, demo
from gpudoctor.check_engine import Check, Outcome, Verdict, judge
from gpudoctor.facts import Facts
from gpudoctor.queries import cause_groups
from gpudoctor.queries.smoke import cause_groups as smoke_cause_groups
from gpudoctor.root_causes import findings
from tests.causes.composed import is_excused, is_explained
from tests.machines.registry import machines

Edge = tuple[str, str]  # the consequence, and the cause as it is written there


def groups() -> dict[str, tuple[str, ...]]:
    """The groups of causes, and of each what no smaller group in it holds."""
    every = {
        name: value
        for module in (cause_groups, smoke_cause_groups)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, tuple)
    }
    inner = {name: {x for other in every.values() if set(other) < set(every[name]) for x in other} for name in every}
    return {name: tuple(x for x in value if x not in inner[name]) for name, value in every.items()}


def written(checks: list[Check[Any]]) -> dict[Edge, list[Edge]]:
    """The edges as they are written, with those of the checks that they make."""
    found: dict[Edge, list[Edge]] = defaultdict(list)
    own = groups()
    for one in checks:
        left = list(one.caused_by)
        for name, causes in own.items():
            if causes and set(causes) <= set(one.caused_by):
                for cause in causes:
                    found[name, cause].append((one.id, cause))
                left = [cause for cause in left if cause not in causes]
        for cause in left:
            found[one.id, cause].append((one.id, cause))
    return found


def of_machines(checks: list[Check[Any]]) -> set[Edge]:
    """The edges without which the report on one of the whole machines would be another."""
    found: set[Edge] = set()
    every = [*(one.make() for one in machines()), *(demo.load(name) for name in demo.DEMOS)]
    for facts in every:
        found |= set(_needed(facts, checks))
    return found


def _needed(facts: Facts, checks: list[Check[Any]]) -> Iterator[Edge]:
    verdicts = [v for v in judge(facts, checks) if v.outcome in (Outcome.PROBLEM, Outcome.UNKNOWN)]
    whole = _shape(verdicts)
    for one in {v.check.id: v.check for v in verdicts}.values():
        every = one.caused_by
        for cause in every:
            one.caused_by = tuple(other for other in every if other != cause)
            if _shape(verdicts) != whole:
                yield one.id, cause
        one.caused_by = every


def _shape(verdicts: list[Verdict]) -> object:
    found, open_ = findings(verdicts)
    return [(_place(f.root), f.severity, [_place(c) for c in f.consequences]) for f in found], [
        _place(v) for v in open_
    ]


def _place(verdict: Verdict) -> object:
    return verdict.check, verdict.about


def is_needed(consequence: Check[Any], cause: str, checks: list[Check[Any]]) -> bool:
    """Whether a machine with two troubles needs the edge."""
    named = [
        one
        for one in checks
        if one is not consequence and (one.id == cause or (cause.endswith(".*") and one.id.startswith(cause[:-1])))
    ]
    return any(is_explained(consequence, one) or is_excused(consequence, one) for one in named)


def main() -> None:
    """Count, and list what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left", action="store_true", help="list the edges that no machine needs")
    wanted = parser.parse_args().left
    checks = catalogue.load()
    by_id = {one.id: one for one in checks}
    every, whole = written(checks), of_machines(checks)
    pairs = {edge for edges in every.values() for edge in edges if is_needed(by_id[edge[0]], edge[1], checks)}
    left = [edge for edge, made in every.items() if not any(one in whole or one in pairs for one in made)]
    lines = [
        f"edges of {sum(bool(one.caused_by) for one in checks)} checks, as written: {len(every)}",
        f"  needed by a whole machine: {sum(any(one in whole for one in made) for made in every.values())}",
        f"  needed by one with two troubles: {sum(any(one in pairs for one in made) for made in every.values())}",
        f"  needed by none: {len(left)}",
        f"of each check by itself: {sum(map(len, every.values()))}, needed: {len(whole | pairs)}",
        *(f"  {consequence} < {cause}" for consequence, cause in sorted(left) if wanted),
    ]
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
