"""What the script tells, in which order, when it is run by itself."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.probes.nvidia.nvml import pynvml_folder
from gpudoctor.workers import nvml
from tests.standins import compile_into, needs_gcc

SCRIPT = Path(nvml.__file__)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_into(tmp_path_factory.mktemp("nvml"), "nvml")


def reported(argument: str, **env: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, argument, SCRIPT.parent],
        env=env,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@needs_gcc
def test_every_stage_is_told_before_it_begins(folder: str) -> None:
    lines = reported(pynvml_folder(), LD_LIBRARY_PATH=folder)
    stages = [line["stage"] for line in lines if "stage" in line]
    assert stages == ["load", "init", "system", "count", "gpu 0", "gpu 1", "done"]


@needs_gcc
def test_a_gpu_says_who_it_is_before_how_it_does(folder: str) -> None:
    lines = [
        line["gpu"] for line in reported(pynvml_folder(), LD_LIBRARY_PATH=folder, STANDIN_DEVICES="1") if "gpu" in line
    ]
    assert [("name" in line, "power" in line, "fans" in line) for line in lines] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]


@needs_gcc
def test_without_pynvml_the_code_is_still_told(folder: str) -> None:
    lines = reported("", LD_LIBRARY_PATH=folder)
    assert {"code": 0, "text": "Unknown Error"} in lines
    assert {"no_module": "nvidia-ml-py cannot be imported: No module named 'pynvml'"} in lines


@needs_gcc
def test_a_refusal_ends_before_pynvml_is_needed(folder: str) -> None:
    lines = reported("", LD_LIBRARY_PATH=folder, STANDIN_NVML="18")
    assert lines[-2:] == [{"code": 18, "text": "Driver/library version mismatch"}, {"stage": "done"}]


@pytest.mark.parametrize("name", ["nvml.py", "nvml_details.py"])
def test_the_scripts_keep_to_python_3_8(name: str) -> None:
    ast.parse((SCRIPT.parent / name).read_text(), feature_version=(3, 8))


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ((1, 2), {"a": 1, "b": 2}),
        (None, {"a": None, "b": None}),
        ({"unknown": "x"}, {key: {"unknown": "x"} for key in "ab"}),
    ],
)
def test_an_answer_is_spread_over_its_facts(values: Any, facts: dict[str, Any]) -> None:
    assert nvml.spread(("a", "b"), values) == facts
