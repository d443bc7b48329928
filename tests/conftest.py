"""For all tests: `--fast`, no sentence prints what is unknown, and programs get the signals that a terminal's would."""

import signal
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


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fast`."""
    parser.addoption("--fast", action="store_true", help="only the pure tests, without processes and applications")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--fast`, leave out what is not pure."""
    if not config.getoption("--fast"):
        return None
    below = collection_path.relative_to(Path(__file__).parent).parts
    return True if below and below[0] not in PURE else None
