"""Runs of the quick suite, with the peers of its figures in turn beside it."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from doctor import HERE, Doctor, Run

BESIDE = 10  # runs with the peers beside them
LIMIT = 300.0  # seconds after which a peer counts as hung
# Beside cubes the shape that mamf-finder found fastest on an H100 (stas00/ml-engineering, compute/accelerator).
SWEEP = ([4096] * 3, [6144] * 3, [8192] * 3, [10240] * 3, [2048, 13312, 2048], [4096, 16384, 8192], [8192, 4096, 16384])
SWEEP_FP32 = ([4096] * 3, [8192] * 3)
Say = Callable[[str], object]


class Beside(NamedTuple):
    """The peers: programs that are there, or why not.

    Attributes:
        python: the framework's interpreter with Triton; None: there is none.
        copies: the CUDA program; None: it could not be built.
        why: by peer the reason why it is not there.
    """

    python: str | None
    copies: str | None
    why: dict[str, str]


class Wish(NamedTuple):
    """How much is run.

    Attributes:
        names: of the families of rows that are wanted.
        runs: of the suite.
        until: no run begins after this moment (time.monotonic).
        keep: a folder for every report; None: they are not kept.
    """

    names: Sequence[str]
    runs: int
    until: float
    keep: Path | None


class Rounds(NamedTuple):
    """What was gathered: the runs of the suite, and what each peer told in each round."""

    runs: list[Run]
    products: list[dict[str, float]]
    sweep: dict[str, float]
    copies: list[dict[str, Any]]
    memory: list[dict[str, Any]]
    failed: list[str]


def gathered(doctor: Doctor, beside: Beside, request: Wish, say: Say) -> Rounds:
    """Run the suite so many times, with the peers in turn beside the first of them.

    Args:
        doctor: runs the suite.
        beside: the peers.
        request: how often, and what.
        say: hears of every step.
    """
    rounds = Rounds([], [], {}, [], [], [])
    for number in range(request.runs):
        if number and time.monotonic() > request.until:
            rounds.failed.append(f"no time was left after {number} of {request.runs} runs")
            break
        say(f"run {number + 1} of {request.runs}")
        run = doctor.smoke()
        rounds.runs.append(run)
        if request.keep:
            (request.keep / f"report-{number + 1:02d}.json").write_text(json.dumps(run.report))
        if number < BESIDE:
            _peers(rounds, beside, request.names, run, say)
    return rounds


def _peers(rounds: Rounds, beside: Beside, names: Sequence[str], run: Run, say: Say) -> None:
    last = {"products": _products, "copies": _copies, "memory": _memory}
    for name, ask in last.items():
        if name in names and name not in beside.why:
            say(f"  beside: {name}")
            try:
                ask(rounds, beside, run)
            except (RuntimeError, OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
                rounds.failed.append(f"{name}: {str(error).strip()[-400:]}")


def sizes(run: Run) -> dict[str, int]:
    """The size of each timed product."""
    return {t["variant"]: t["notes"]["size"] for t in run.tests() if t["test"] == "matmul" and t["notes"].get("size")}


def _products(rounds: Rounds, beside: Beside, run: Run) -> None:
    shapes = {dtype: [[size] * 3] for dtype, size in sizes(run).items()}
    found = _rates(beside.python, shapes, rounds.failed)
    rounds.products.append({dtype: rate for (dtype, _), rate in found.items()})
    if not rounds.sweep:
        sweep = {dtype: SWEEP_FP32 if dtype == "fp32" else SWEEP for dtype in shapes}
        for (dtype, _), rate in _rates(beside.python, sweep, rounds.failed).items():
            rounds.sweep[dtype] = max(rate, rounds.sweep.get(dtype, 0.0))


def _rates(python: str | None, shapes: Any, failed: list[str]) -> dict[tuple[str, str], float]:
    """TFLOP/s by data type and shape."""
    found = {}
    for reported in lines_of([str(python), str(HERE / "peers" / "products.py"), json.dumps(shapes)]):
        name = (str(reported["dtype"]), " x ".join(map(str, reported["shape"])))
        if "seconds" in reported:
            rows, inner, columns = reported["shape"]
            found[name] = 2e-12 * rows * inner * columns / reported["seconds"]
        else:
            failed.append(f"torch.mm in {' '.join(name)}: {reported['error']}")
    return found


def _copies(rounds: Rounds, beside: Beside, run: Run) -> None:
    size = str(int(run.note("transfer", "", "size")) >> 20)
    rounds.copies.append(lines_of([str(beside.copies), size, size])[-1])  # the link has trained up by the second


def _memory(rounds: Rounds, beside: Beside, run: Run) -> None:
    size = str(run.note("bandwidth", "", "size"))
    rounds.memory += lines_of([str(beside.python), str(HERE / "peers" / "triad.py"), size])


def lines_of(argv: list[str]) -> list[dict[str, Any]]:
    """The lines of JSON that a program writes.

    Raises:
        RuntimeError: it ended badly.
    """
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        raise RuntimeError(f"{argv[1] if len(argv) > 1 else argv[0]} ended with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
