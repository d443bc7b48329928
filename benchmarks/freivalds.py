"""The check of products by random projections beside the exact product in float64: how much cheaper, how near.

Both begin with the same float32 matrices and make float64 of them, as gpudoctor's check does.
"""

import importlib.util
import statistics
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from doctor import ROOT
from rows import Row

SIZES = {4096: 5.0, 2048: 3.0}  # and how many times cheaper it has to be
NEAR = 0.02
ROUNDS = 7
HALF = 16  # bits that bf16 has less than float32


def inside() -> Callable[[str], ModuleType]:
    """What loads a module of gpudoctor/workers/smoke, the way the worker does."""
    path = ROOT / "gpudoctor" / "workers" / "smoke" / "worker.py"
    spec = importlib.util.spec_from_file_location("_benchmark_worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    load: Callable[[str], ModuleType] = worker.load
    return load


def rows(say: Callable[[str], object]) -> list[Row]:
    """The rows of each size."""
    found = []
    for size, wanted in SIZES.items():
        say(f"Freivalds' check of {size} x {size}")
        found += _one(size, wanted)
    return found


def _one(size: int, wanted: float) -> list[Row]:
    load = inside()
    deviation, host = load("tests.matmul").deviation, load("host").Host()
    bench = SimpleNamespace(backend=SimpleNamespace(host=host))
    a, b = (host.normal(size, size, seed) for seed in (1, 2))
    rounded = {"float32": a @ b}
    rounded["rounded to bf16"] = as_bf16(rounded["float32"])
    cases = {}
    for name, c in rounded.items():
        cases[name] = (_exact(a, b, c), deviation(bench, *map(_double, (a, b, c)))["error"])
    c = rounded["float32"]
    ways: tuple[Callable[[], Any], ...] = (
        lambda: deviation(bench, _double(a), _double(b), _double(c)),
        lambda: _exact(a, b, c),
    )
    ours, exact = alternating(ways, ROUNDS)
    why = f"{ours * 1000:.0f} ms against {exact * 1000:.0f} ms, median of {ROUNDS}"
    return [
        Row(f"Freivalds, N={size}: the exact product takes longer", exact / ours, None, "times", ">=", wanted, why),
        *(
            Row(f"Freivalds, N={size}, {name}: error, exact beside it", near, true, "ratio", "within", NEAR)
            for name, (true, near) in cases.items()
        ),
    ]


def _double(array: Any) -> Any:
    return array.astype(np.float64)


def _exact(a: Any, b: Any, c: Any) -> float:
    """The relative Frobenius norm of the error, by the whole product in float64."""
    c = _double(c)
    return float(np.linalg.norm(c - _double(a) @ _double(b)) / np.linalg.norm(c))


def as_bf16(array: Any) -> Any:
    """float32 rounded to the nearest number that bf16 has; ties away from zero, which normal data hardly has."""
    bits = array.view(np.uint32)
    return ((bits + (1 << HALF - 1)) >> HALF << HALF).view(np.float32)


def alternating(calls: tuple[Callable[[], Any], ...], rounds: int) -> list[float]:
    """The median seconds of each call; they take turns."""
    taken: list[list[float]] = [[] for _ in calls]
    for number in range(rounds + 1):
        for call, each in zip(calls, taken, strict=True):
            begun = time.perf_counter()
            call()
            if number:  # the first does not count
                each.append(time.perf_counter() - begun)
    return [statistics.median(each) for each in taken]
