"""Runs `gpudoctor smoke --json` as a user would, and reads from its report what the benchmark wants to know."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OVER = "seconds over the deadline: "  # what planted.py writes on standard error before a number
LIMIT = 400.0  # seconds after which a run counts as hung
Key = tuple[str, str, str]  # test, variant, figure


class Run(NamedTuple):
    """One run of the command: its report and its wall time in seconds."""

    report: dict[str, Any]
    seconds: float

    @classmethod
    def read(cls, text: str, seconds: float) -> "Run":
        """The run whose standard output this is."""
        return cls(json.loads(text), seconds)

    def outcomes(self) -> dict[str, str]:
        """How each test ended; of several data types the last."""
        return {test["test"]: test["outcome"] for test in self.tests()}

    def tests(self) -> list[dict[str, Any]]:
        """The tests of all backends and devices."""
        return [test for entry in self.report["smoke"] for test in entry["tests"]]

    def figures(self) -> dict[Key, dict[str, Any]]:
        """Every number with what belongs to it."""
        return {
            (test["test"], test["variant"], figure["name"]): figure
            for test in self.tests()
            for figure in test["figures"]
        }

    def value(self, *key: str) -> float | None:
        """One number; None where it was not measured."""
        found = self.figures().get((key[0], key[1], key[2]))
        return None if found is None else float(found["value"])

    def note(self, test: str, variant: str, name: str) -> Any:
        """One note of a test; None where there is none."""
        found = [t["notes"].get(name) for t in self.tests() if (t["test"], t["variant"]) == (test, variant)]
        return found[0] if found else None

    def findings(self) -> list[str]:
        """What the report finds in the area smoke, with its status."""
        found = [f for f in self.report["findings"] if f["check"].startswith("smoke.")]
        return [f"{f['status']} {f['check']} ({f['subject']}): {f['message'] or f['title']}" for f in found]

    def checks(self) -> set[str]:
        """The ids of those findings and of what follows from any finding."""
        under = {c["check"] for f in self.report["findings"] for c in f["consequences"]}
        return {one for one in under | {f["check"] for f in self.report["findings"]} if one.startswith("smoke.")}


class Doctor(NamedTuple):
    """How gpudoctor is called: its interpreter, and the arguments of every run."""

    arguments: tuple[str, ...]
    program: tuple[str, ...] = (sys.executable, "-m", "gpudoctor")

    def smoke(self, *words: str, env: Mapping[str, str] | None = None, program: Sequence[str] | None = None) -> Run:
        """Run the command in the root of this tree, so that it is this tree's; what it exits with is not asked.

        Raises:
            RuntimeError: it wrote no report.
        """
        argv = [*(program or self.program), "smoke", *words, "--json", *self.arguments]
        begun = time.perf_counter()
        done = subprocess.run(
            argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT
        )
        seconds = time.perf_counter() - begun
        try:
            return Run.read(done.stdout, seconds)
        except ValueError:
            words_said = (done.stderr or done.stdout).strip()[-600:]
            raise RuntimeError(f"{' '.join(argv[-6:])} ended with {done.returncode}: {words_said}") from None


def looked(program: Sequence[str] = Doctor(()).program) -> dict[str, Any]:
    """The report of `gpudoctor check --quick`: which GPUs and which driver there are."""
    argv = [*program, "check", "--quick", "--json"]
    done = subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
