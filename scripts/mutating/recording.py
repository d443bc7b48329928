"""What each test runs of the product: recorded once with coverage, and read when the tests for a mutant are chosen."""

import hashlib
import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

AT_IMPORT = ""  # coverage's name for what ran before the first test


class Record:
    """Which tests run which lines, and how long each takes.

    Args:
        root: the checkout.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        digest = hashlib.sha256()
        for path in sorted(p for top in ("checks", "gpudoctor") for p in (root / top).rglob("*.py")):
            digest.update(path.read_bytes())
        self.file = root / "build" / "mutants" / f"{digest.hexdigest()[:16]}.coverage"
        self.times = self.file.with_suffix(".json")
        self.seconds: dict[str, float] = {}
        self._lines: dict[Path, dict[int, list[str]]] = {}

    @property
    def exists(self) -> bool:
        """Whether this code was recorded before. A test that came later is in no record, and is run for each mutant."""
        return self.times.exists()

    def make(self, arguments: list[str]) -> int:
        """Run the tests and record them, in this process; pytest's exit code."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.unlink(missing_ok=True)
        places = [str(self.root / top) for top in ("checks", "gpudoctor")]
        found = coverage.Coverage(data_file=str(self.file), source=places, config_file=False)
        found.set_option("run:relative_files", True)
        found.start()
        ended = pytest.main(arguments, plugins=[_Recorder(found, self.seconds)])
        found.stop()
        found.save()
        if ended == 0:
            self.times.write_text(json.dumps(self.seconds), encoding="utf-8")
        return int(ended)

    def read(self) -> None:
        """Read what was recorded."""
        self.seconds = json.loads(self.times.read_text(encoding="utf-8"))
        self._data = coverage.CoverageData(str(self.file))
        self._data.read()

    def tests(self, path: Path, lines: set[int]) -> set[str]:
        """The tests that run one of the lines of a file, and AT_IMPORT where importing does."""
        if path not in self._lines:
            self._lines[path] = self._data.contexts_by_lineno(str(path))
        return {name for line in lines for name in self._lines[path].get(line, ())}


class _Recorder:
    def __init__(self, found: coverage.Coverage, seconds: dict[str, float]) -> None:
        self.found, self.seconds = found, seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.found.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = round(time.process_time() - began, 4)
