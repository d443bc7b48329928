"""For all tests: `--fast`, several processes, no sentence prints what is unknown, and the signals of a terminal."""

import atexit
import gc
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from gpudoctor.maybe import Unknown


def _refuse(unknown: Unknown, *_: object) -> NoReturn:
    raise AssertionError(f"a sentence prints what is unknown: {unknown!r}")


Unknown.__str__ = _refuse  # type: ignore[method-assign]
Unknown.__format__ = _refuse  # type: ignore[assignment, method-assign]

# Behind nohup, or in the background of a script, a shell ignores these for us, and so for all that tests start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# Without bytecode every process that the tests start compiles all that it imports, and pytest rewrites all tests again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# NumPy's threads wait for each other by spinning: next to other tests that doubles the CPU time of a smoke test.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Of what is collected nothing is garbage, and pytest keeps it all to the end: see pytest_collection_finish.
gc.disable()
# A shim (pyenv's) starts twenty shells before it starts Python, which most checks here do.
if Path(shutil.which("python3") or sys.executable).read_bytes()[:2] == b"#!":
    os.environ["PATH"] = f"{sys.base_prefix}/bin{os.pathsep}{os.environ['PATH']}"

# What starts no process, no application and no environment: `pytest --fast`.
PURE = [
    "checks",
    "comparison",
    "demo",
    "docs",
    "expect",
    "fixes",
    "knowledge",
    "parsers",
    "probes",
    "queries",
    "report",
    "requirements",
    "sampling",
    "symptoms",
    "tasks",
    "test_architecture.py",
    "test_areas.py",
    "test_catalogue.py",
    "test_check_engine.py",
    "test_check_sources.py",
    "test_facts_file.py",
    "test_lazy.py",
    "test_maybe.py",
    "test_missing_facts.py",
    "test_pipeline.py",
    "test_privacy.py",
    "test_registry.py",
    "test_root_causes.py",
    "test_targets.py",
]


# The longest, most of which wait for others: two processes begin with them, so that the rest need not wait for these.
FIRST = (
    ("test_hangs.py", "real/test_accessible.py", "cli/test_fix_packages.py", "causes/test_edges.py"),
    ("real/fleet", "real/test_served.py", "cli/test_storms.py", "real/test_slurm.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fast`."""
    parser.addoption("--fast", action="store_true", help="only the pure tests, without processes and applications")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--fast`, leave out what is not pure."""
    if not config.getoption("--fast"):
        return None
    below = collection_path.relative_to(Path(__file__).parent).parts
    return True if below and below[0] not in PURE else None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run directories in processes side by side where nobody says in how many (`-n`); what asks a GPU has it alone."""
    unsaid = getattr(config.option, "numprocesses", 0) is None and not hasattr(config, "workerinput")
    if unsaid and "not gpu" in config.option.markexpr:
        config.option.numprocesses = "auto"
        if config.option.dist == "no":
            config.option.dist = "worksteal"


def _rewrite_first(config: pytest.Config) -> None:
    """In a fresh checkout let two processes rewrite the tests: each of those that run them would rewrite all of it."""
    here = Path(__file__).parent
    whole = any(Path(argument).resolve() == here for argument in config.args)
    if not whole or not getattr(config.option, "numprocesses", 0) or any(here.glob("checks/*/__pycache__/*-pytest-*")):
        return
    directories = sorted(path for path in here.iterdir() if path.is_dir() and any(path.rglob("test_*.py")))
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n0", "-p", "no:cacheprovider"]
    commands = [[*collect, *map(str, directories[part::2])] for part in range(2)]
    for one in [subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for each in commands]:
        one.wait()


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes end at once: Python would first free all that was collected, for which the run waits."""
    if not hasattr(config, "workerinput"):
        _rewrite_first(config)
    else:
        atexit.register(os._exit, 0)  # registered first, so it comes after all others; nobody reads this exit status


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Four more than there are cores, because many tests wait; none for files, which are run here at once."""
    if not any(os.path.isdir(argument) for argument in config.args):
        return 0
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 4


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest where two of the processes begin: each gets its share of the list to begin with."""
    here = Path(__file__).parent

    @cache
    def group(file: Path) -> int:
        path = file.relative_to(here).as_posix()
        return next((number for number, first in enumerate(FIRST) if path.startswith(first)), len(FIRST))

    first, second, rest = ([one for one in items if group(one.path) == number] for number in range(3))
    share = len(items) // getattr(config, "workerinput", {}).get("workercount", 1)
    before = max(0, share - len(first))
    items[:] = [*first, *rest[:before], *second, *rest[before:]]


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the tests: to walk through them again and again takes a fifth of a run."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
