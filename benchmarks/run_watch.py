"""What watching a program costs: the CPU time of gpudoctor and its samplers while `gpudoctor run` runs a program.

    python benchmarks/run_watch.py [--seconds 120] [--workers 8] [--gpus 8]

The program maps a library that is called like PyTorch's and forks workers that sleep; NVML is the tests' stand-in, or
with --gpus 0 the machine's own. The share is that of the time after the samplers have started, in percent of a core;
the start is shown next to it. The program itself is not counted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

STANDIN = Path(__file__).parent.parent / "tests/standins/nvml.c"
SETTLED = 10.0  # seconds: five until watching begins (watch.py), and what the children take to start
PROGRAM = """
import ctypes, os, sys, time
ctypes.CDLL(sys.argv[1])
for _ in range(int(sys.argv[3])):
    if os.fork() == 0:
        break
time.sleep(float(sys.argv[2]))
"""


def compiled(path: Path, *source: str) -> Path:
    """A shared library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, *source], check=True)
    return path


def spent(ours: psutil.Process, program: int) -> float:
    """The CPU seconds of gpudoctor and its children, without the program's."""
    children = [one for one in ours.children(recursive=False) if one.pid != program]
    return sum(sum(one.cpu_times()[:2]) for one in (ours, *children))


def main() -> None:
    """Measure, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--gpus", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        torch = compiled(Path(folder) / "torch/lib/libtorch_cpu.so", "-x", "c", os.devnull)
        env = dict(os.environ)
        if given.gpus:
            compiled(Path(folder) / "nvml/libnvidia-ml.so.1", str(STANDIN), "-DLIVE")
            env |= {"LD_LIBRARY_PATH": f"{folder}/nvml", "STANDIN_DEVICES": str(given.gpus)}
        argv = [sys.executable, "-m", "gpudoctor", "run", "--", sys.executable, "-c", PROGRAM]
        argv += [str(torch), str(given.seconds + SETTLED + 2), str(given.workers)]
        with subprocess.Popen(argv, env=env) as child:
            ours = psutil.Process(child.pid)
            time.sleep(2.0)
            program = ours.children()[0].pid
            before = spent(ours, program)
            time.sleep(SETTLED - 2.0)
            begun, start = time.monotonic(), spent(ours, program)
            time.sleep(given.seconds)
            used, took = spent(ours, program) - start, time.monotonic() - begun
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    sys.stdout.write(
        f"{100 * used / took:.2f}% of a core over {took:.0f} s ({given.gpus} GPUs, {given.workers + 1} processes of "
        f"{len(psutil.pids())}); start: {start - before:.2f} CPU seconds; load {load} on {os.cpu_count()} cores\n"
    )


if __name__ == "__main__":
    main()
