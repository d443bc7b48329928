"""`gpudoctor run` of a program that succeeds: real processes, real samplers, a stand-in for the driver."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli import BARE
from tests.standins import compile_into, needs_gcc, watched

pytestmark = needs_gcc

GPU = {"STANDIN_NAME": "NVIDIA GeForce RTX 4090", "STANDIN_PCI": "268410de", "STANDIN_DRIVER": "570.86.15"}
ProgramWatch = Callable[..., tuple["subprocess.CompletedProcess[str]", dict[str, Any]]]
# Maps a library as the loader does, and lasts until enough was seen of it.
PROGRAM = """
import mmap, os, sys, time
file = open(sys.argv[1], "rb")
held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
end = time.monotonic() + 100
while not os.path.exists(os.environ["STANDIN_ENOUGH"]) and time.monotonic() < end:
    time.sleep(0.05)
print("trained")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("driver")
    compile_into(place, "cuda_queries")
    compile_into(place, "nvml", "-DCLINIC", "-DLIVE")
    return place


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the files of a CPU build of PyTorch that gpudoctor reads."""
    place = tmp_path_factory.mktemp("project") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    site = next(place.glob("lib/python*/site-packages"))
    (site / "torch/lib").mkdir(parents=True)
    (site / "torch/__init__.py").write_text("")
    (site / "torch/version.py").write_text("__version__ = '2.7.1+cpu'\ncuda = None\nhip = None\n")
    shutil.copy(next(one for one in Path("/proc/self/maps").read_text().split() if "/libc.so" in one), library(place))
    (site / "torch-2.7.1+cpu.dist-info").mkdir()
    (site / "torch-2.7.1+cpu.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.7.1+cpu\n")
    (site / "torch-2.7.1+cpu.dist-info/RECORD").write_text("torch/__init__.py,,\n")
    return place


def library(env: Path) -> Path:
    return next(env.glob("lib/python*/site-packages")) / "torch/lib/libtorch_cpu.so"


@pytest.fixture
def run(driver: Path, env: Path, tmp_path: Path) -> ProgramWatch:
    """Runs the program under the watch, and gives the report too."""

    def start(holder: str, code: int = 0, **more: str) -> tuple["subprocess.CompletedProcess[str]", dict[str, Any]]:
        variables = BARE | GPU | {"LD_LIBRARY_PATH": str(driver), "STANDIN_HOLDER": holder} | more
        variables |= {"STANDIN_ENOUGH": str(tmp_path / "enough")}
        variables |= {key: value for key, value in os.environ.items() if key.startswith("COV")}
        argv = [sys.executable, watched.__file__, "run", "--quick", "--report", str(tmp_path / "run.json"), "--"]
        argv += [str(env / "bin/python"), "-c", PROGRAM, str(library(env)), str(code)]
        ran = subprocess.run(argv, env=variables, cwd="/", capture_output=True, text=True, timeout=110)
        return ran, json.loads((tmp_path / "run.json").read_text())

    return start


def test_a_program_that_held_no_gpu_learns_why(run: ProgramWatch) -> None:
    ran, report = run("other")
    line = "held no GPU: PyTorch is a CPU-only build (gpudoctor check shows the fix)"
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "trained\n", f"gpudoctor: {line}.\n")
    assert report["verdict"] == {"id": "no-gpu-held", "message": line}
    assert (report["gpus"][0]["held"], report["gpus"][0]["utilization"]) == (False, 7.0)
    assert (report["schema"], report["exit_code"], report["watched"]) == ("gpudoctor.run/1", 0, True)
    assert report["processes"][0]["frameworks"] == ["torch"]


def test_a_gpu_that_is_held_and_hardly_busy(run: ProgramWatch) -> None:
    ran, report = run("program")
    assert (ran.returncode, ran.stdout) == (0, "trained\n")
    assert ran.stderr == "gpudoctor: held 1 GiB, GPU 0 busy 7%.\n"
    assert report["gpus"][0]["memory_peak"] == 1 << 30
    assert report["gpus"][0]["held_busy_seconds"] <= report["gpus"][0]["busy_seconds"]


def test_where_a_namespace_hides_who_holds_a_gpu_open_device_nodes_count(run: ProgramWatch) -> None:
    ran, report = run("other", STANDIN_HIDDEN="1")
    assert ran.returncode == 0
    assert report["gpus"][0]["held"] is None
    assert report["verdict"]["id"] == "no-gpu-held"


def test_a_program_that_fails_is_explained_and_its_figures_are_written(run: ProgramWatch) -> None:
    ran, report = run("program", 3)
    assert (ran.returncode, ran.stdout) == (3, "trained\n")
    assert "exited with code 3." in ran.stderr
    assert "GPU 0 busy" not in ran.stderr
    assert (report["exit_code"], report["verdict"]["id"]) == (3, "gpu-idle")


def test_a_short_program_is_not_watched(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "gpudoctor", "run", "--report", str(tmp_path / "run.json"), "--", "true"]
    ran = subprocess.run(argv, env=BARE, cwd="/", capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert json.loads((tmp_path / "run.json").read_text())["watched"] is False
    argv[argv.index(str(tmp_path / "run.json"))] = "/no/such/directory/run.json"
    ran = subprocess.run(argv, env=BARE, cwd="/", capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0
    assert ran.stderr == "gpudoctor: /no/such/directory/run.json cannot be written: No such file or directory.\n"
