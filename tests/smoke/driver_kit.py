"""The driver's backend over a libcuda that computes on the CPU: as a worker of its own, and its parts."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.inside.smoke import worker
from gpudoctor.inside.smoke.cuda.device import Device
from gpudoctor.inside.smoke.cuda.library import Library
from gpudoctor.smoke.read import Told
from tests.smoke.bench_kit import digits
from tests.standins import compile_into

FLAGS = ("-O2", "-fvisibility=hidden", "-lm")
SECONDS = 120  # a hang of the worker fails the test
ROOM = "270"  # MiB of free memory: 14 that tests may take, enough for all, and for no product above 512 x 512


@pytest.fixture(scope="session")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder that holds the stand-in."""
    return compile_into(tmp_path_factory.mktemp("libcuda"), "cuda_compute", *FLAGS)


def worked(folder: str, tests: str, task: dict[str, Any] | None = None, **env: str) -> Told:
    """What a worker told that ran some tests, named with commas between them, over a stand-in that is so set."""
    whole = {"backend": "driver", "tests": tests.split(","), "digits": digits(), "seconds": 1, **(task or {})}
    done = subprocess.run(
        [sys.executable, worker.__file__],
        input=json.dumps(whole),
        env={"LD_LIBRARY_PATH": folder, "STANDIN_FREE": ROOM, **env},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    told = Told()
    for line in done.stdout.splitlines():
        assert told.line(line) or line.startswith("gpudoctor:"), line
    return told


@contextmanager
def opened(folder: str, ordinal: int = 0) -> Iterator[Device]:
    """A device of the stand-in, in this process."""
    cuda = Library(str(Path(folder, "libcuda.so.1")))
    cuda.call("cuInit", 0)
    device = Device(cuda, ordinal)
    try:
        yield device
    finally:
        device.make_current()
        device.close()
