"""The clock of a machine jumps: no time that passes is measured with it."""

import ast
from pathlib import Path

import gpudoctor

PACKAGE = Path(gpudoctor.__file__).parent
# They say when something was made, which is told to people and orders nothing but reports of one node.
WALL = {"time.time", "time.time_ns", "datetime.now", "datetime.datetime.now", "datetime.utcnow", "datetime.today"}
STAMPS = {
    "fleet/aggregate/streaming.py",
    "fleet/runner/run_directory.py",
    "fleet/runner/ledger.py",
    "setup/journal.py",
    "probes/history/frameworks.py",  # the age of files, likewise
    "setup/planner.py",
    "machine.py",  # the age of a file, which the file system dates by this clock
}


def test_only_stamps_are_taken_from_the_clock() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WALL
    }
    assert found == STAMPS
