"""Changes the code in small wrong ways, one at a time, and counts which of them a test notices.

    nice python scripts/mutate.py [--number 200] [--seed 1] [--jobs 1] [--operator caused_by] [PATH ...]

The quick suites that know no processes and no screens are collected once, and each mutant is judged in a fork of that
process. The first run on a state of the code records with coverage which test runs which lines (some minutes; kept in
build/mutants). A mutant within a function is put into the function that is imported already, and only the tests that
run this function are run, the fastest first, up to the first that fails: no other could notice. What runs at import
(limits, severities, causes, tables) is changed in a fork that imports everything again, and judged by the tests of its
area, then by all. A failure counts only if the test passes alone without the mutant.

A mutant that survives is either a test that is missing, or a change that changes nothing; somebody has to look. Left
out for mutants within functions are tests that take longer than SLOW seconds, so that such a mutant may survive though
they would notice it: the share is a lower bound. Exit code 1 where fewer are killed than --least, or where the suites
fail without any mutant.
"""

import argparse
import importlib
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.mutating.forks import FORK, each, first_failure, forked  # noqa: E402 - what follows needs the path above
from scripts.mutating.mutants import Mutant, mutants  # noqa: E402
from scripts.mutating.planting import Planted, compiled, plant, plant_at_import  # noqa: E402
from scripts.mutating.recording import AT_IMPORT, Record  # noqa: E402

WHAT = (
    "checks", "gpudoctor/queries", "gpudoctor/fixes", "gpudoctor/symptoms", "gpudoctor/fleet/aggregate",
    "gpudoctor/check_engine.py", "gpudoctor/root_causes.py",
)  # fmt: skip
# No test that compares a page with the code: it changes with whatever the code says.
SUITES = (
    "tests/checks", "tests/queries", "tests/fixes", "tests/causes", "tests/machines", "tests/demo", "tests/symptoms",
    "tests/fleet", "tests/test_root_causes.py", "tests/test_check_engine.py", "tests/test_missing_facts.py",
)  # fmt: skip
LEFT_OUT = ("tests/fleet/runner", "tests/fleet/real")  # processes
# Without plain assertions pytest would read and compile the plugin package, gpudoctor, past our import.
QUIET = (
    "--assert=plain",
    "-p",
    "no:terminal",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:cov",
    f"--rootdir={ROOT}",
)
FIRST = {"caused_by": "tests/causes", "severity": "tests/fixes", "root": "tests/fixes", "needs": "tests/fixes"}
COLLECTING = "collecting the tests"
SLOW = 10.0  # seconds
IMPORTED = ("msgspec", "packaging", "rich.console", "hypothesis", "coverage")  # by all forks, and not changed


def sample(wanted: list[str], number: int, seed: int, operator: str | None) -> list[Mutant]:
    """A sample of the mutants, the same for the same seed."""
    files = sorted(
        p for name in wanted for p in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
    )
    every = [m for path in files for m in mutants(ROOT, path.relative_to(ROOT)) if operator in (None, m.operator)]
    return random.Random(seed).sample(every, min(number, len(every)))  # noqa: S311 - no secret


def arguments(suites: tuple[str, ...] = SUITES) -> list[str]:
    """What pytest is called with."""
    return [*QUIET, *(f"--ignore={ROOT / name}" for name in LEFT_OUT), *(str(ROOT / name) for name in suites)]


def within(record: Record, one: Planted) -> bool:
    """Whether a mutant is in a function that no import calls."""
    return one.function is not None and AT_IMPORT not in record.tests(one.mutant.path, set(one.lines))


def area(one: Mutant) -> str:
    """The folder of tests that belongs to the file of a mutant, as far as there is one."""
    return str(Path("tests", *[part for part in one.path.parent.parts if part != "gpudoctor"]))


def ordered(record: Record, one: Mutant, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that are most likely to notice a mutant first."""
    first = FIRST.get(one.operator, area(one))
    return sorted(items, key=lambda item: (not item.nodeid.startswith(first), record.seconds.get(item.nodeid, 0)))


def limit(record: Record, items: list[pytest.Item]) -> float:
    """After how many seconds of computing tests hang."""
    return 60 + 10 * sum(record.seconds.get(item.nodeid, 1) for item in items)


class Within:
    """Judges the mutants within functions, in forks of the process that has collected the tests."""

    def __init__(self, record: Record, chosen: list[Planted], jobs: int, answer: Connection) -> None:
        self.record, self.chosen, self.jobs, self.answer = record, chosen, jobs, answer
        self.alone: dict[str, bool] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        for one, failed in each(lambda one: self._judged(session, one), self.chosen, self.jobs):
            self.answer.send((one.mutant, failed))
        return True

    def _judged(self, session: pytest.Session, one: Planted) -> str:
        names = self.record.tests(one.mutant.path, set(one.lines))
        seconds = self.record.seconds
        items = [i for i in session.items if i.nodeid in names or i.nodeid not in seconds]
        items = [i for i in ordered(self.record, one.mutant, items) if seconds.get(i.nodeid, 0) < SLOW]
        while True:

            def act(items: list[pytest.Item] = items) -> str:
                if not plant(ROOT, one):
                    plant_at_import(ROOT, one.mutant)  # a module that is imported when it is first needed
                return first_failure(session, items)

            failed = forked(act, limit(self.record, items)) if items else ""
            blamed = [item for item in items if item.nodeid == failed]
            if not blamed or self._passes_alone(session, blamed[0]):
                return failed
            items = items[items.index(blamed[0]) + 1 :]

    def _passes_alone(self, session: pytest.Session, item: pytest.Item) -> bool:
        if item.nodeid not in self.alone:
            self.alone[item.nodeid] = not forked(lambda: first_failure(session, [item]), limit(self.record, [item]))
        return self.alone[item.nodeid]


class AtImport:
    """Judges the one mutant that this process has imported."""

    def __init__(self, record: Record, one: Mutant) -> None:
        self.record, self.one, self.failed = record, one, ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Take the place of pytest's own loop."""
        items = ordered(self.record, self.one, session.items)
        self.failed = COLLECTING if session.testsfailed else first_failure(session, items)
        return True


def at_import(record: Record, one: Mutant) -> str:
    """The test that notices a mutant of what runs at import, or an empty text."""
    nearest = area(one)
    smaller = nearest.startswith(SUITES) and nearest not in SUITES and (ROOT / nearest).is_dir()
    stages = [(nearest,)] if smaller and one.operator not in FIRST else []
    for suites in [*stages, SUITES]:

        def act(suites: tuple[str, ...] = suites) -> str:
            plant_at_import(ROOT, one)
            judge = AtImport(record, one)
            ended = pytest.main(arguments(suites), plugins=[judge])
            return judge.failed or ("" if ended in (0, 5) else COLLECTING)

        if failed := forked(act, 60 + 10 * sum(record.seconds.values())):
            return failed
    return ""


def run(chosen: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Judge each mutant; with it comes the test that notices it, or an empty text."""
    os.chdir(ROOT)
    for name in IMPORTED:
        importlib.import_module(name)
    record = Record(ROOT)
    if not record.exists and forked(lambda: str(record.make(arguments())), 36000) != "0":
        raise SystemExit("The suites fail without any mutant: nothing can be said.")
    record.read()
    made = list(filter(None, (compiled(ROOT, one) for one in chosen)))
    inside = [one for one in made if within(record, one)]
    yield from _answers(record, inside, jobs)
    for one, failed in each(lambda one: at_import(record, one.mutant), [o for o in made if o not in inside], jobs):
        yield one.mutant, failed


def _answers(record: Record, inside: list[Planted], jobs: int) -> Iterator[tuple[Mutant, str]]:
    ours, theirs = FORK.Pipe(duplex=False)

    def collect() -> None:
        pytest.main(arguments(), plugins=[Within(record, inside, jobs, theirs)])

    child = FORK.Process(target=collect)
    child.start()
    theirs.close()
    try:
        while True:
            yield ours.recv()
    except EOFError:
        child.join()


def main(words: list[str] | None = None) -> int:
    """Sample, judge, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=list(WHAT), metavar="PATH")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--operator", help="mutants of this kind alone")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT", help="what has to be killed")
    given = parser.parse_args(words)
    chosen = sample(given.paths, given.number, given.seed, given.operator)
    made, killed = Counter[str](), Counter[str]()
    for one, failed in run(chosen, given.jobs):
        made[one.operator] += 1
        killed[one.operator] += bool(failed)
        sys.stdout.write(f"{f'noticed by {failed}' if failed else 'SURVIVES'}: {one}\n")
        sys.stdout.flush()
    for operator, many in sorted(made.items()):
        sys.stdout.write(f"{operator:<14} killed {killed[operator]:>3} of {many:>3}\n")
    share = 100 * killed.total() / max(1, made.total())
    sys.stdout.write(f"killed {killed.total()} of {made.total()} ({share:.0f}%)\n")
    return int(share < given.least)


if __name__ == "__main__":
    sys.exit(main())
