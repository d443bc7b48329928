"""Runs the backend in an interpreter that has PyTorch: a few lines beside it, or a whole worker."""

import base64
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.smoke.bench_kit import Done

ROOT = Path(__file__).resolve().parent.parent.parent
WORKER = ROOT / "gpudoctor" / "workers" / "smoke" / "worker.py"
SECONDS = 280
# What lines run beside: a backend on the device of this kind, digits, and a way to tell something.
PRELUDE = f"""
import base64, json, sys, warnings
sys.path.insert(0, {str(ROOT)!r})
from gpudoctor.workers.smoke.backends.pytorch import PytorchBackend
from gpudoctor.workers.smoke.weights import CNN, MLP, Weights
task = json.load(sys.stdin)
images, labels = (base64.b64decode(task["digits"][name]) for name in ("images", "labels"))
def tell(value): print("told:" + json.dumps(value), flush=True)
backend = PytorchBackend(task)
torch = backend.torch
about = backend.start()
"""


def inside(python: str, lines: str, kind: str = "cpu", **env: str) -> Any:
    """Run lines beside a backend; what they told last."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [python, "-c", PRELUDE + lines],
            input=json.dumps(task(kind)),
            env={**os.environ, "HOME": home, **env},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    reported = [line[5:] for line in done.stdout.splitlines() if line.startswith("told:")]
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(reported[-1])


def worker(python: str, tests: str, kind: str = "cpu", env: dict[str, str] | None = None, **more: Any) -> list[Done]:
    """The results of a worker that runs these tests."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [python, str(WORKER)],
            input=json.dumps(task(kind, tests=tests.split(), **more)),
            env={**os.environ, "HOME": home, **(env or {})},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    lines = [json.loads(line.partition(":")[2]) for line in done.stdout.splitlines() if line.startswith("gpudoctor:")]
    assert lines, done.stderr[-3000:]
    assert "done" in [line.get("outcome") for line in lines], (lines[-3:], done.stderr[-3000:])
    return [Done(line["result"]) for line in lines if "result" in line]


def task(kind: str, **more: Any) -> dict[str, Any]:
    """What the parent would send."""
    return {"backend": "pytorch", "kind": kind, "device": 0, "dtypes": [], "digits": digits(), "seconds": 2, **more}


def digits() -> dict[str, str]:
    """The shipped images and labels."""
    data = gzip.decompress((ROOT / "gpudoctor" / "smoketests" / "digits.gz").read_bytes())
    count = len(data) // (28 * 28 + 1)
    parts = {"images": data[:-count], "labels": data[-count:]}
    return {name: base64.b64encode(part).decode() for name, part in parts.items()}


def by_variant(found: list[Done], name: str) -> dict[str, Done]:
    """The results of one test by their variants."""
    return {done.variant: done for done in found if done.result["name"] == name}


def with_torch() -> str | None:
    """An interpreter at hand that imports PyTorch; GPUDOCTOR_TORCH names it where it is none of the usual."""
    for python in filter(None, (os.environ.get("GPUDOCTOR_TORCH"), sys.executable, "python3", "python")):
        try:
            if subprocess.run([python, "-c", "import torch"], capture_output=True, timeout=120).returncode == 0:
                return python
        except OSError:
            continue
    return None
