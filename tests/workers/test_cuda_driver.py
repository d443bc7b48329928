"""What the script tells, in which order, when it is run by itself."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.workers import cuda_driver
from tests.standins import compile_into, needs_gcc

SCRIPT = Path(cuda_driver.__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("cuda"), "cuda")


def reported(*arguments: str, **env: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-I", "-S", str(SCRIPT), *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=10, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@needs_gcc
def test_every_stage_is_told_before_it_begins(folder: str) -> None:
    stages = [line["stage"] for line in reported(LD_LIBRARY_PATH=folder) if "stage" in line]
    assert stages == ["load", "version", "init", "count", "device 0", "device 1", "done"]


@needs_gcc
def test_only_init_asks_for_no_device(folder: str) -> None:
    lines = reported("init", LD_LIBRARY_PATH=folder)
    assert lines[-2:] == [{"code": 0, "name": "CUDA_SUCCESS", "text": "no error"}, {"stage": "done"}]


@needs_gcc
def test_what_the_driver_prints_does_not_mix_with_the_facts(folder: str) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "init"], env={"LD_LIBRARY_PATH": folder}, capture_output=True, text=True
    )
    assert "the driver talks" in done.stderr
    assert "the driver talks" not in done.stdout


def test_a_missing_library_is_told_in_the_loaders_words(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library, but long enough to hold the header of one" * 2)
    assert reported(LD_LIBRARY_PATH=str(tmp_path))[1] == {"not_loaded": f"{tmp_path}/libcuda.so.1: invalid ELF header"}


def test_the_script_keeps_to_python_3_8() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 8))
