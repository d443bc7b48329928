"""Faults that are planted on purpose, and whether the report finds each; and workers that never end.

Some are planted from outside, by a variable or by another process on the GPU; the others in the worker, by
peers/faulty_worker.py. Nothing is changed on the GPU.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from doctor import HERE, OVER, ROOT, Doctor, Run
from rows import Row

GONE = 5.0  # seconds after the deadline within which control is back
Say = Callable[[str], object]


class Fault(NamedTuple):
    """One fault.

    Attributes:
        what: it is, for people.
        tests: that run.
        finding: the id of the check that has to speak; empty: none may, and the tests have to end well.
        env: variables that plant it.
        busy: what peers/busy.py does meanwhile.
    """

    what: str
    tests: tuple[str, ...]
    finding: str
    env: Mapping[str, str] = MappingProxyType({})
    busy: str = ""


FAULTS = (
    Fault("TF32 forced by NVIDIA_TF32_OVERRIDE=1", ("matmul", "mnist", "--dtype", "fp32"), "smoke.tf32-in-force",
          {"NVIDIA_TF32_OVERRIDE": "1"}),
    Fault("TF32 allowed where it should be off", ("matmul", "mnist", "--dtype", "fp32"), "smoke.tf32-in-force",
          {"PLANTED": "tf32"}),
    Fault("one bit flipped in a product", ("matmul", "--dtype", "fp32"), "smoke.wrong-result", {"PLANTED": "bit"}),
    Fault("copies to the device lost", ("transfer",), "smoke.corrupted-copy", {"PLANTED": "zeros"}),
    Fault("an image lost", ("mnist",), "smoke.wrong-training", {"PLANTED": "image"}),
    Fault("pageable memory passed as pinned", ("transfer",), "smoke.memory-not-pinned", {"PLANTED": "pageable"}),
    Fault("CUDA_LAUNCH_BLOCKING=1", ("overlap",), "smoke.no-overlap", {"CUDA_LAUNCH_BLOCKING": "1"}),
    Fault("another process computes", ("matmul", "bandwidth"), "smoke.busy", busy="computing"),
    Fault("half of the memory taken", ("matmul", "mnist", "transfer", "bandwidth"), "", busy="memory"),
)  # fmt: skip
ON_CPU = ("one bit flipped in a product", "an image lost")  # that PyTorch shows without a GPU too
HANGS = {"stopped": "a worker that SIGSTOP stopped", "kernel": "a kernel that does not end"}


def rows(doctor: Doctor, python: str | None, gpu: str | None, say: Say) -> list[Row]:
    """A row for each fault.

    Args:
        doctor: runs gpudoctor.
        python: the framework's interpreter; None: there is none.
        gpu: why nothing can be planted on a GPU; None: there is one.
        say: hears of every step.
    """
    found = []
    for fault in FAULTS:
        why = "no --python with PyTorch" if python is None else None if fault.what in ON_CPU else gpu
        if why:
            found.append(Row(f"fault: {fault.what}", why=why))
            continue
        say(f"fault: {fault.what}")
        try:
            found.append(_planted(doctor, python or "", fault))
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            found.append(Row(f"fault: {fault.what}", why=str(error)[-300:], failed=True))
    return found


def _planted(doctor: Doctor, python: str, fault: Fault) -> Row:
    program = (sys.executable, str(HERE / "planted.py")) if "PLANTED" in fault.env else None
    with _beside(python, fault.busy):
        run = doctor.smoke(*fault.tests, env={**os.environ, **fault.env}, program=program)
    good = fault.finding in run.checks() if fault.finding else _well(run)
    wanted = fault.finding or "no failure, and tests that end well"
    message = "; ".join(run.findings()) or "no finding"
    seen = ", ".join(
        f"{' '.join(filter(None, key))} {f['value']:.3g}" for key, f in run.figures().items() if _tells(*key)
    )
    busy = ", ".join(f"busy: {entry['busy']}" for entry in run.report["smoke"])
    why = f"wanted {wanted}; {message}; {'; '.join(filter(None, (seen, busy)))}"
    return Row(f"fault: {fault.what}", float(good), None, "", ">=", 1.0, why)


def _tells(test: str, variant: str, figure: str) -> bool:
    """Whether a figure shows that a fault took hold."""
    return figure.endswith("error") or figure == "overlap" or (test, variant) == ("bandwidth", "copy")


def _well(run: Run) -> bool:
    """Whether all tests ended well, and nothing is called broken."""
    ended = all(test["outcome"] in ("done", "unsupported") for test in run.tests())
    return ended and not any(line.startswith("fail") for line in run.findings())


@contextmanager
def _beside(python: str, what: str) -> Iterator[None]:
    """Another user of the GPU meanwhile."""
    if not what:
        yield
        return
    argv = [python, str(HERE / "peers" / "busy.py"), what]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None  # noqa: S101 - they are pipes
        assert process.stdout is not None  # noqa: S101
        try:
            if process.stdout.readline().strip() != b"ready":
                raise RuntimeError("the other process did not begin to work")
            yield
        finally:
            process.stdin.close()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def hangs(doctor: Doctor, gpu: str | None, say: Say) -> list[Row]:
    """How long after its deadline a worker that never ends is gone, and whether the test before it is kept."""
    found = []
    for name, what in HANGS.items():
        title = f"{what}: gone so long after the deadline"
        if name == "kernel" and gpu:
            found.append(Row(title, why=gpu))
            continue
        say(what)
        found.append(_hung(doctor, name, title))
    return found


def _hung(doctor: Doctor, name: str, title: str) -> Row:
    argv = [sys.executable, str(HERE / "planted.py"), "smoke", "bandwidth", "mnist", "--json", *doctor.arguments]
    done = subprocess.run(
        argv, cwd=ROOT, env=os.environ | {"PLANTED": name}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    over = [float(line[len(OVER) :]) for line in done.stderr.splitlines() if line.startswith(OVER)]
    if not over:
        return Row(title, why=f"it was not left hanging: {(done.stderr or done.stdout)[-300:]}", failed=True)
    outcomes = Run.read(done.stdout, 0.0).outcomes()
    kept = outcomes == {"bandwidth": "done", "mnist": "hung"}
    return Row(title, max(over), None, "s", "<=", GONE if kept else -1.0, f"outcomes: {outcomes}")
