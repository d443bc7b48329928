"""CuPy as it is installed: it has all that the backend asks of it, and says in its own words why it finds no GPU."""

import ast
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.workers.common import PREFIX
from gpudoctor.workers.smoke import network, worker
from gpudoctor.workers.smoke.backends import cupy
from tests.smoke import standin_cupy
from tests.smoke.bench_kit import digits

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(1500)]
Interpreter = Callable[..., str]

BACKENDS = Path(str(cupy.__file__)).parent
# What the backend's variables and arguments stand for.
ROOTS = {
    "self.cupy": "cupy",
    "backend.cupy": "cupy",
    "cupy": "cupy",
    "xp": "cupy",
    "cuda": "cupy.cuda",
    "runtime": "cupy.cuda.runtime",
    "core": "cupy._core",
    "types": "cupy._core._routines_linalg",
    "special": "cupyx.scipy.special",
}
# What is asked of the objects that CuPy makes.
METHODS = {
    "cupy.ndarray": "view fill astype sum max argmax transpose reshape data shape strides dtype size T get",
    "cupy.cuda.MemoryPointer": "ptr",
    "cupy.cuda.Event": "record synchronize",
    "cupy.cuda.Stream": "wait_event synchronize __enter__",
    "cupy.cuda.Device": "use __enter__",
    "cupy.cuda.MemoryPool": "free_bytes free_all_blocks",
    "cupy.cuda.PinnedMemoryPool": "free_all_blocks",
    "cupy.cuda.runtime.PointerAttributes": "type",
    "cupy._core._routines_linalg": "to_compute_type_index",
}
# Asked inside an environment: which of some dotted paths lead nowhere.
ASK = """
import importlib, json, sys
def there(path):
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
print(json.dumps([path for path in json.load(sys.stdin) if not there(path)]))
"""


def asked(source: str) -> Iterator[str]:
    """The dotted paths into CuPy that a source names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            path = ast.unparse(node)
            root = next((r for r in ROOTS if path.startswith(r + ".")), None)
            rest = path[len(root) + 1 :] if root else ""
            if root and rest.replace(".", "").isidentifier():
                yield f"{ROOTS[root]}.{rest}"


@pytest.fixture(scope="module")
def python(interpreter: Interpreter) -> str:
    return interpreter("cupy", "cupy-cuda12x")


def test_cupy_has_all_that_the_backend_asks_of_it(python: str) -> None:
    sources = [*BACKENDS.glob("cupy*.py"), Path(str(network.__file__))]
    paths = sorted({path for source in sources for path in asked(source.read_text())})
    assert {"cupy.cuda.runtime.memcpyPeerAsync", "cupy.lib.stride_tricks.as_strided", "cupy.fuse"} <= set(paths)
    assert len(paths) > 50
    paths += [f"{owner}.{name}" for owner, names in METHODS.items() for name in names.split()]
    done = subprocess.run(
        [python, "-c", ASK], input=json.dumps([*paths, "cupy.no_such"]), capture_output=True, text=True
    )
    assert json.loads(done.stdout) == ["cupy.no_such"], done.stderr[-2000:]


def test_it_says_why_it_finds_no_gpu(python: str) -> None:
    lines = reported(python, {"tests": ["matmul"], "kind": "cuda"})
    (message,) = [line for line in lines if "message" in line]
    assert message["outcome"] == "unsupported"
    assert message["message"].startswith("CuPy finds no GPU: cudaError")


def test_bfloat16_by_its_bits(interpreter: Interpreter, tmp_path: Path) -> None:
    """The stand-in beside a real ml_dtypes, which JAX brings along."""
    shutil.copy(str(standin_cupy.__file__), tmp_path / "cupy.py")
    task = {"tests": ["matmul", "stress"], "kind": "cuda", "dtypes": ["bf16"], "seconds": 1}
    env = {"PYTHONPATH": str(tmp_path), "STANDIN_CUPY": "free=300"}
    lines = reported(interpreter("jax", "jax[cpu]"), task, **env)
    found = {line["result"]["name"]: line["result"] for line in lines if "result" in line}
    error = next(f["value"] for f in found["matmul"]["figures"] if f["name"] == "error")
    assert found["matmul"]["outcome"] == "done"
    assert 1e-3 < error < 3e-3
    assert found["matmul"]["notes"]["not_repeated"] == 0
    assert (found["stress"]["notes"]["dtype"], found["stress"]["notes"]["wrong"]) == ("bf16", 0)


def reported(python: str, task: dict[str, Any], **env: str) -> list[dict[str, Any]]:
    """The lines of a worker."""
    done = subprocess.run(
        [python, str(worker.__file__)],
        input=json.dumps({"backend": "cupy", "digits": digits(), **task}),
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=600,
        check=True,
    )
    return [json.loads(line.removeprefix(PREFIX)) for line in done.stdout.splitlines() if line.startswith(PREFIX)]
