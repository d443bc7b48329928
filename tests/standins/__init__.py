"""Stand-ins for NVIDIA's libraries, compiled where a test needs them: every failure of a driver without a GPU."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SONAMES = {
    "cuda": "libcuda.so.1",
    "cuda_compute": "libcuda.so.1",
    "cuda_queries": "libcuda.so.1",
    "cudart_queries": "libcudart_queries.so",
    "nvml": "libnvidia-ml.so.1",
}

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compile the stand-in libraries")


def compile_into(folder: Path, name: str, *flags: str) -> str:
    """Compile a stand-in and return the folder that holds it under its soname."""
    target = folder / SONAMES[name]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", target, HERE / f"{name}.c", *flags], check=True)
    return str(folder)


def left_running(mark: str) -> list[int]:
    """The processes whose environment holds a mark; those that a test left behind."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it ended meanwhile
                found += [int(entry.name)] if mark.encode() in (entry / "environ").read_bytes() else []
    return found


def clean_up(pids: list[int]) -> None:
    """Kill what a failing test left behind."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(pid, signal.SIGKILL)
