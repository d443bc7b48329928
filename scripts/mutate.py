"""Changes the code in small wrong ways, one at a time, and counts which of them a test notices.

    python scripts/mutate.py [--number 200] [--seed 1] [--jobs 1] [--operator caused_by] [PATH ...]

For each mutant the tests run that fit its file by name, then, if these pass, the quick suites that know no processes
and no screens. Nothing runs in this checkout: each job has a copy of it. A mutant that survives is either a test that
is missing, or a change that changes nothing; somebody has to look. Exit code 1 where fewer are killed than --least, or
where the suites fail without any mutant.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.mutating.mutants import Mutant, mutants  # noqa: E402 - what follows needs the path above

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
NEAR = 5  # files that fit by name
SECONDS = {"by name": 180, "by the suites": 900}
COPIED = ("checks", "gpudoctor", "tests", "scripts", "examples", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.svg")


def sample(wanted: list[str], number: int, seed: int, operator: str | None) -> list[Mutant]:
    """A sample of the mutants, the same for the same seed."""
    files = sorted(
        p for name in wanted for p in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py"))
    )
    every = [m for path in files for m in mutants(ROOT, path.relative_to(ROOT)) if operator in (None, m.operator)]
    return random.Random(seed).sample(every, min(number, len(every)))  # noqa: S311 - no secret


def copy(folder: Path) -> Path:
    """A copy of the checkout."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, symlinks=True, ignore=IGNORED)
        elif source.exists():
            shutil.copy2(source, folder / name)
    return folder


def near(path: Path) -> list[str]:
    """The test files that name a source file most often: by the check's id, or by the module."""
    names = {path.stem.replace("_", "-"), path.stem} - {"__init__"}
    counts: dict[str, int] = {}
    for suite in SUITES:
        for test in [ROOT / suite] if suite.endswith(".py") else (ROOT / suite).rglob("test_*.py"):
            relative = str(test.relative_to(ROOT))
            text = test.read_text(encoding="utf-8")
            many = sum(text.count(name) for name in names) + 100 * (test.stem == f"test_{path.stem}")
            if many and not relative.startswith((*LEFT_OUT, "tests/causes")):
                counts[relative] = many
    return sorted(counts, key=lambda name: -counts[name])[:NEAR]


def notices(tree: Path, tests: list[str], seconds: int) -> bool:
    """Whether a test fails, or the tests hang."""
    if not tests:
        return False
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests]
    command += [f"--ignore={name}" for name in LEFT_OUT]
    try:
        ended = subprocess.run(command, cwd=tree, timeout=seconds, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        return True
    return ended.returncode not in (0, 5)


def judged(one: Mutant, tree: Path, moment: float) -> str:
    """What notices a mutant, or "nothing"; the copy is as it was afterwards.

    Args:
        one: the mutant.
        tree: a copy of the checkout.
        moment: when the file was changed, as Python's caches shall see it: no two mutants may share it.
    """
    path = tree / one.path
    plain = path.read_bytes()
    made = one.of(plain)
    try:
        compile(made, str(path), "exec")
    except SyntaxError:
        return "no mutant"
    try:
        path.write_bytes(made)
        _at(path, moment)
        if notices(tree, near(one.path), SECONDS["by name"]):
            return "by name"
        return "by the suites" if notices(tree, list(SUITES), SECONDS["by the suites"]) else "nothing"
    finally:
        path.write_bytes(plain)
        _at(path, moment + 0.5e9)


def _at(path: Path, moment: float) -> None:
    os.utime(path, (moment, moment))


def run(chosen: list[Mutant], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Judge each in a copy of the checkout."""
    with tempfile.TemporaryDirectory(prefix="gpudoctor-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            trees.put(copy(Path(folder) / str(number)))
        if notices(Path(folder) / "0", list(SUITES), SECONDS["by the suites"]):
            raise SystemExit("The suites fail without any mutant: nothing can be said.")

        def judge(numbered: tuple[int, Mutant]) -> str:
            tree = trees.get()
            try:
                return judged(numbered[1], tree, 1e9 + numbered[0])
            finally:
                trees.put(tree)

        waiting = {pool.submit(judge, numbered): numbered[1] for numbered in enumerate(chosen)}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


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
    counts: Counter[tuple[str, str]] = Counter()
    for one, how in run(chosen, given.jobs):
        counts[one.operator, how] += 1
        sys.stdout.write(f"{'SURVIVES' if how == 'nothing' else how}: {one}\n")
        sys.stdout.flush()
    return _told(counts, given.least)


def _told(counts: Counter[tuple[str, str]], least: float) -> int:
    made = Counter({key: many for key, many in counts.items() if key[1] != "no mutant"})
    killed = sum(many for (_, how), many in made.items() if how != "nothing")
    for operator in sorted({name for name, _ in made}):
        every = sum(many for (name, _), many in made.items() if name == operator)
        lives = made[operator, "nothing"]
        sys.stdout.write(f"{operator:<14} killed {every - lives:>3} of {every:>3}\n")
    share = 100 * killed / max(1, made.total())
    by_name = sum(many for (_, how), many in made.items() if how == "by name")
    sys.stdout.write(f"killed {killed} of {made.total()} ({share:.0f}%), {by_name} by the tests that fit by name\n")
    return int(share < least)


if __name__ == "__main__":
    sys.exit(main())
