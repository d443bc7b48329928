"""How bad each problem is, and what its fixes ask of somebody: root, what has to follow, and what it does at worst.

The table is fixes.txt: a line for each check, with the severities and the fixes that the rows of tests/checks bring
about. A fix is written as what kind of act it is, how many of its tasks need root, what it needs after it, what it does
where that is not reversible, whether taking it back needs root, whether it is done outside of this machine, and whether
it only keeps the problem from coming back; "-" is one that says none of it.
"""

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from gpudoctor.check_engine import Fix, Outcome, run
from gpudoctor.tasks import Command, Task, needs_root
from tests.checks.rows import problems

TABLE = Path(__file__).with_name("fixes.txt")


def _written(fix: Fix) -> str:
    parts = (
        fix.action,
        f"root {sum(map(needs_root, fix.tasks))}/{len(fix.tasks)}" if fix.asks_root else None,
        f"needs {fix.needs}" if fix.needs else None,
        f"impact {fix.impact}" if fix.impact != "reversible" else None,
        "undo root" if any(map(needs_root, fix.undo)) else None,
        fix.place if fix.place != "here" else None,
        "later" if fix.later else None,
    )
    return ", ".join(filter(None, parts)) or "-"


def _found() -> list[str]:
    severities: dict[str, set[str]] = defaultdict(set)
    fixes: dict[str, set[str]] = defaultdict(set)
    for one, facts in problems():
        for verdict in run(one, facts):
            if verdict.outcome is Outcome.PROBLEM:
                severities[one.id].add(verdict.severity.value)
                fixes[one.id].update(map(_written, verdict.fixes))
    return [f"{id_} ({', '.join(sorted(found))}): {'; '.join(sorted(fixes[id_]))}" for id_, found in severities.items()]


_BRING = {
    ("apt-get", "install"), ("apt-get", "purge"), ("dnf", "install"), ("dnf", "remove"), ("yum", "install"),
    ("zypper", "install"), ("zypper", "remove"), ("pacman", "-S"), ("pip", "install"), ("pip", "uninstall"),
}  # fmt: skip


def _brings_packages(task: Task) -> bool:
    words = task.argv if isinstance(task, Command) and not task.placeholders else ()
    return any(pair in _BRING for pair in pairwise(words))


def test_a_fix_that_installs_or_removes_packages_says_so() -> None:
    wrong = {
        f"{verdict.check.id}: {fix.action}: {fix.message}"
        for one, facts in problems()
        for verdict in run(one, facts)
        for fix in verdict.fixes
        if fix.action != "reinstall-package" and any(map(_brings_packages, fix.tasks))
    }
    assert not wrong


def test_severities_and_fixes() -> None:
    assert sorted(_found()) == TABLE.read_text(encoding="utf-8").splitlines()
