"""Runs TensorFlow's or JAX's backend in an interpreter that has it: a whole worker, or a few lines beside a backend."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.smoketests.digits import shipped
from gpudoctor.smoketests.job import SETTINGS, WORKER
from tests.smoke.bench_kit import Done
from tests.smoke.driver_kit import skip_without_gpu

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 500
# What lines run beside: the backend on its device, the digits, and a way to tell what they found.
PRELUDE = f"""
import base64, json, sys
sys.path.insert(0, {str(ROOT)!r})
import numpy
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.weights import Weights
task = json.loads(sys.stdin.read())
import importlib
module = importlib.import_module("gpudoctor.workers.smoke.backends." + task["backend"])
Backend = getattr(module, task["backend"].capitalize() + "Backend")
images, labels = (base64.b64decode(task["digits"][name]) for name in ("images", "labels"))
def tell(value): print("told:" + json.dumps(value), flush=True)
def refused(call):
    try: call()
    except Unsupported as reason: return str(reason)
def apart(one, other): return float(numpy.linalg.norm(one - other) / numpy.linalg.norm(other))
backend = Backend(task)
about = backend.start()
"""


class Worked:
    """What a worker told.

    Attributes:
        facts: of the run.
        tests: the results.
    """

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.facts: dict[str, Any] = {}
        for line in lines:
            self.facts |= {**line.get("about", {}), **line}
        self.tests = [Done(line["result"]) for line in lines if "result" in line]

    def __getitem__(self, name: str) -> dict[str, Done]:
        """The results of one test by variant."""
        return {done.variant: done for done in self.tests if done.result["name"] == name}

    def only(self, name: str) -> Done:
        """The one result of a test."""
        (done,) = self[name].values()
        return done


def worked(python: str, backend: str, tests: str, *, env: dict[str, str] | None = None, **task: Any) -> Worked:
    """Run a worker to its end.

    Args:
        python: the interpreter that has the framework.
        backend: jax or tensorflow.
        tests: their names, with spaces between.
        env: more environment variables.
        task: more of the task.
    """
    done = _run([python, WORKER], backend, env, tests=tests.split(), **task)
    lines = [line.partition(":")[2] for line in done.stdout.splitlines() if line.startswith("gpudoctor:")]
    assert lines, done.stderr[-3000:]
    found = Worked([json.loads(line) for line in lines])
    assert "outcome" in found.facts, done.stderr[-3000:]
    return found


def inside(python: str, backend: str, lines: str, *, env: dict[str, str] | None = None, **task: Any) -> Any:
    """Run lines beside a backend; what they told last."""
    done = _run([python, "-c", PRELUDE + lines], backend, env, **task)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads([line[5:] for line in done.stdout.splitlines() if line.startswith("told:")][-1])


def _run(argv: list[str], backend: str, env: dict[str, str] | None, **more: Any) -> subprocess.CompletedProcess[str]:
    digits = shipped()
    encoded = {"images": b64encode(digits.images).decode(), "labels": b64encode(digits.labels).decode()}
    task = {"backend": backend, "kind": "cpu", "device": 0, "dtypes": [], "seconds": 1, "digits": encoded, **more}
    with tempfile.TemporaryDirectory() as home:
        whole = {**os.environ, **SETTINGS, "HOME": home, **(env or {})}
        return subprocess.run(argv, input=json.dumps(task), env=whole, capture_output=True, text=True, timeout=SECONDS)


def with_gpu(module: str) -> str:
    """An interpreter that has a module, where there is a GPU; GPUDOCTOR_GPU_PYTHON names where to look."""
    skip_without_gpu()
    named = os.environ.get("GPUDOCTOR_GPU_PYTHON")
    there = named.split(os.pathsep) if named else [shutil.which("python3") or sys.executable, sys.executable]
    asked = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    for python in there:
        if subprocess.run([python, "-c", asked], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    pytest.skip(f"{module} is not installed for {' and '.join(there)}")
