"""The driver's backend over a libcuda that computes on the CPU, or over the real one: as a worker, and its parts."""

import ctypes
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.smoketests.worker_output import WorkerOutput
from gpudoctor.workers.smoke import worker
from gpudoctor.workers.smoke.cuda.device import CudaContext
from gpudoctor.workers.smoke.cuda.library import NAME, CudaLibrary
from tests.smoke.bench_kit import digits
from tests.standins import compile_into

FLAGS = ("-O2", "-fvisibility=hidden", "-lm")
SECONDS = 120  # a hang of the worker fails the test
ROOM = "270"  # MiB of free memory: 14 that tests may take, enough for all, and for no product above 512 x 512


@pytest.fixture(scope="session")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that holds the stand-in."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc to compile the stand-in libraries")
    return compile_into(tmp_path_factory.mktemp("libcuda"), "cuda_compute", *FLAGS)


def skip_without_gpu() -> None:
    """Skip where the driver's own library lists no device."""
    try:
        cuda, count = ctypes.CDLL(NAME), ctypes.c_int()
    except OSError:
        pytest.skip("no libcuda: a GPU of NVIDIA's and its driver are needed")
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        pytest.skip("libcuda lists no device")


def worked(folder: str | None, tests: str, task: dict[str, Any] | None = None, **env: str) -> WorkerOutput:
    """What a worker told that ran some tests.

    Args:
        folder: of the stand-in; None: the driver's own library.
        tests: named, with commas between them.
        task: more of the task.
        env: how the stand-in is set.
    """
    whole = {"backend": "driver", "tests": tests.split(","), "digits": digits(), "seconds": 1, **(task or {})}
    done = subprocess.run(
        [sys.executable, worker.__file__],
        input=json.dumps(whole),
        env={"LD_LIBRARY_PATH": folder, "STANDIN_FREE": ROOM, "OPENBLAS_NUM_THREADS": "1", **env} if folder else None,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    reported = WorkerOutput()
    for line in done.stdout.splitlines():
        assert reported.line(line) or line.startswith("gpudoctor:"), line
    return reported


@contextmanager
def opened(folder: str | None, ordinal: int = 0) -> Iterator[CudaContext]:
    """A device of the stand-in, or of the driver's own library, in this process."""
    cuda = CudaLibrary(str(Path(folder, NAME)) if folder else NAME)
    cuda.call("cuInit", 0)
    device = CudaContext(cuda, ordinal)
    try:
        yield device
    finally:
        device.make_current()
        device.close()
