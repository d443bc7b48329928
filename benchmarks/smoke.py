"""Holds the figures of `gpudoctor smoke` against other programs, and its promises against faults that are planted.

    python benchmarks/smoke.py [--python PYTHON] [--runs N] [--only NAME ...] [--minutes M] [--keep FOLDER] [--json]

PYTHON has PyTorch, and Triton for the comparisons. Without a GPU the rows about one are not measured, and the rest
runs. It exits with 1 where a goal does not hold.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faults
import freivalds
import rounding
import verdicts
from doctor import HERE, ROOT, Doctor, looked
from rounds import Beside, Wish, gathered
from rows import HEAD, Row

PARTS = (*verdicts.FAMILIES, "faults", "hangs", "freivalds", "rounding")
NO_GPU = "no GPU on this machine"
VERSIONS = """
import importlib.metadata as m, json, platform
names = ("torch", "triton", "numpy", "nvidia-cublas", "nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13")
found = {n: v for n in names for v in [next((d.version for d in m.distributions(name=n)), None)] if v}
print(json.dumps(dict(found, python=platform.python_version())))
"""


def say(text: str) -> None:
    """Tell on standard error what happens."""
    sys.stderr.write(f"[{time.monotonic() - BEGUN:6.1f} s] {text}\n")
    sys.stderr.flush()


def about(report: dict[str, Any], python: str | None) -> dict[str, Any]:
    """On what and with what it is measured."""
    lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    own = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "gpu": ", ".join(f"{gpu['name']}" for gpu in report["gpus"]) or "none",
        "driver": report["machine"]["driver"] or report["machine"]["driver_libraries"] or "none",
        "machine": f"{os.cpu_count()} cores of {processor}, Linux {platform.release()}",
        "gpudoctor": " ".join(filter(None, (report["version"], own.stdout.strip()))),
        "versions": _versions(python),
        "load": round(os.getloadavg()[0], 2),
    }


def _versions(python: str | None) -> dict[str, str]:
    if python is None:
        return {}
    done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-200:]}
    return found


def beside(python: str | None, folder: Path) -> Beside:
    """The peers that are there: Triton in the interpreter, and the CUDA program as nvcc builds it now."""
    why: dict[str, str] = {}
    has_triton = python and subprocess.run([python, "-c", "import torch, triton"], capture_output=True).returncode == 0
    if not has_triton:
        why |= dict.fromkeys(("products", "memory"), "--python names no interpreter with PyTorch and Triton")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    built = folder / "copies"
    if nvcc is None:
        why["copies"] = "no nvcc to build copies.cu"
    else:
        argv = [nvcc, "-O2", "-o", str(built), str(HERE / "copies.cu")]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode:
            why["copies"] = f"nvcc: {done.stderr.strip()[-200:]}"
    return Beside(python, str(built), why)


def measured(arguments: argparse.Namespace, report: dict[str, Any], folder: Path) -> list[Row]:
    """The rows of the parts that are wanted."""
    names, python = arguments.only or PARTS, arguments.python
    here = any(gpu["vendor"] == "nvidia" for gpu in report["gpus"])
    gpu = None if here else NO_GPU
    of_framework = ("--backend", "pytorch", "--python", python, "--device", arguments.device or "0" if here else "cpu")
    doctor = Doctor(of_framework if python else ("--backend", "driver" if here else "cpu"))
    found: list[Row] = []
    families = [name for name in verdicts.FAMILIES if name in names]
    if families and (here or set(families) & {"variation", "clean"}):
        until = BEGUN + 60 * arguments.minutes
        peers = beside(python, folder) if here else Beside(None, None, dict.fromkeys(verdicts.TITLES, NO_GPU))
        rounds = gathered(doctor, peers, Wish(families, arguments.runs, until, arguments.keep), say)
        found += verdicts.rows(rounds, peers, families, gpu)
        for line in rounds.failed:
            say(line)
    else:
        found += [Row(verdicts.TITLES[name], why=gpu or "") for name in families]
    if "faults" in names:
        found += faults.rows(doctor, python, gpu, say)
    if "hangs" in names:
        found += faults.hangs(doctor, gpu or (None if python else "no --python with PyTorch"), say)
    if "freivalds" in names:
        found += freivalds.rows(say)
    if "rounding" in names:
        found += rounding.rows(say)
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="the interpreter of an environment with PyTorch and Triton")
    parser.add_argument("--device", help="the GPU, by number or UUID (default: 0)")
    parser.add_argument("--runs", type=int, default=10, help="of the quick suite; peers run beside the first ten")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="NAME", help=f"only these parts: {', '.join(PARTS)}"
    )
    parser.add_argument("--minutes", type=float, default=60, help="no run of the suite begins later than this")
    parser.add_argument("--keep", type=Path, help="a directory for the report of every run and for the rows as JSON")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(words)
    if arguments.device:  # for the programs beside it
        os.environ |= {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": arguments.device}
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    report = looked()
    with tempfile.TemporaryDirectory() as folder:
        head = about(report, arguments.python)
        rows = measured(arguments, report, Path(folder))
    reported = json.dumps({"about": head, "rows": [row.plain() for row in rows]}, indent=2) + "\n"
    if arguments.keep:
        (arguments.keep / "rows.json").write_text(reported)
    if arguments.json:
        sys.stdout.write(reported)
    else:
        lines = [f"{key:<10} {value}" for key, value in head.items()]
        sys.stdout.write("\n".join([*lines, "", HEAD, *(row.line() for row in rows)]) + "\n")
    return 1 if any(row.holds is False for row in rows) else 0


BEGUN = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
