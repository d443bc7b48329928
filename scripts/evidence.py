"""What each check was seen to find its problem on: what the tests prove, and what `validated_on` states.

    python scripts/evidence.py [--write]

Printed are the checks whose `validated_on` is behind the tests or ahead of them; --write marks their files. What the
tests prove (environment, facts) is never written by hand; hardware and simulated are, because those machines are not in
this tree. docs/generate.py makes docs/checks/validated.md of both.
"""

import argparse
import ast
import datetime
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gpudoctor import catalogue, checks
from gpudoctor.check_engine import Check
from gpudoctor.check_sources import rule_files
from gpudoctor.pipeline import check
from tests.causes.test_machines import EXPECTED
from tests.clinic.kit import TABLE
from tests.machines import recorded

ROOT = Path(__file__).resolve().parent.parent
# From the strongest to the weakest.
LEVELS = {
    "hardware": "a machine with a real GPU that has the problem",
    "environment": "real packages or a real system, broken for real; there is no GPU, and where one is needed, "
    "a stand-in for the driver's libraries",
    "simulated": "a whole simulated host, made after a public report: files, commands and libraries respond as there; "
    "these hosts are not in this repository",
    "facts": "the facts of a whole machine, written by hand or from a bundle of unknown origin: the check is the root "
    "cause or stands under it; no probe runs",
    "table": "rows of the check's own test alone",
}
PROVEN = ("environment", "facts")  # by tests of this tree
CLINIC = "tests/clinic/breakages.toml"
RECORDED = "tests/machines/recorded.toml"
MACHINES = "tests/causes/test_machines.py"
# Tests in which each id that is named is the first finding on something real, and those which also type each fix.
REAL = ("tests/clinic/test_debian.py", "tests/real/test_run_frameworks.py")
REPAIRED = ("tests/real/test_broken_environments.py",)
UNPROVEN = "test_headers_missing_then_built"  # it has never ended within its time
MARK = re.compile(rf"({'|'.join(LEVELS)}) (20\d\d-(?:0[1-9]|1[0-2]))(?:: .+)?")
_DECORATED = re.compile(r"validated_on=\(([^()]*)\)")


class Proof(NamedTuple):
    """Where a test has seen a check find its problem.

    Attributes:
        level: of LEVELS.
        file: the test or its table, from the top of the tree.
        repaired: the first fix was typed as it stands, and the problem was gone.
    """

    level: str
    file: str
    repaired: bool = False


@cache
def proofs() -> dict[str, list[Proof]]:
    """What the tests prove of each check, the strongest first."""
    ids, found = set(checks.ids()), defaultdict(set)
    for id_, proof in _every():
        if id_ in ids:
            found[id_].add(proof)
    order = list(LEVELS)
    return {id_: sorted(every, key=lambda one: (order.index(one.level), one.file)) for id_, every in found.items()}


def _every() -> Iterator[tuple[str, Proof]]:
    for row in TABLE.breakage:
        yield row.cause, Proof("environment", CLINIC, row.typed)
    for file in (*REAL, *REPAIRED):
        for statement in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
            if getattr(statement, "name", "") != UNPROVEN:
                nodes = (node for node in ast.walk(statement) if isinstance(node, ast.Constant))
                yield from ((str(node.value), Proof("environment", file, file in REPAIRED)) for node in nodes)
    for one in recorded.rows():
        if not recorded.wrong(one, check(facts=recorded.facts(one))):
            yield one.cause, Proof("hardware" if one.hardware else "facts", RECORDED)
    for text in EXPECTED.values():
        yield from ((word, Proof("facts", MACHINES)) for word in text.split())


def level(one: Check[Any]) -> str:
    """The strongest evidence of a check."""
    return MARK.fullmatch(one.validated_on[0])[1]  # type: ignore[index]  # a test holds that each has one


def marks(one: Check[Any], month: str) -> tuple[str, ...]:
    """What `validated_on` should state: what it states of machines that are not here, and what the tests prove.

    Args:
        one: the check.
        month: of what is proven for the first time, such as "2026-11".
    """
    before = {text.partition(" ")[0]: text for text in one.validated_on}
    proven = {proof.level for proof in proofs().get(one.id, ())}
    kept = {name for name in before if name in ("hardware", "simulated")} | proven
    best = [name for name in LEVELS if name in kept] or ["table"]
    strong = [name for name in best if name != "facts"] or best  # next to better evidence it adds nothing
    return tuple(before.get(name, f"{name} {month}") for name in strong)


def stale(month: str) -> dict[str, tuple[str, ...]]:
    """The checks whose `validated_on` is not what it should be, each with what it should be."""
    wanted = {one.id: (one.validated_on, marks(one, month)) for one in catalogue.load(checks.ids())}
    return {id_: after for id_, (before, after) in wanted.items() if before != after}


def marked(text: str, stated: tuple[str, ...]) -> str:
    """The text of a check's file with what it states.

    Raises:
        ValueError: the file has no `validated_on`, or several.
    """
    inner = "".join(f'"{one}", ' for one in stated).rstrip()
    after, number = _DECORATED.subn(f"validated_on=({inner if len(stated) == 1 else inner[:-1]})", text)
    if number != 1:
        raise ValueError(f"validated_on stands there {number} times")
    return after


def main() -> int:
    """Print what is not as it should be, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="mark the files of the checks")
    write = parser.parse_args().write
    found = stale(f"{datetime.datetime.now(tz=datetime.timezone.utc):%Y-%m}")
    for one in catalogue.load(found):
        print(f"{one.id}: {'; '.join(found[one.id])}")  # noqa: T201 - a tool for people
        if write:
            path = ROOT / rule_files(one)[0]
            path.write_text(marked(path.read_text(encoding="utf-8"), found[one.id]), encoding="utf-8")
    return 0 if write or not found else 1


if __name__ == "__main__":
    sys.exit(main())
