"""`gpudoctor smoke compare` on a real GPU: both columns, within its time, and no alarm."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.smoke.driver_kit import skip_without_gpu
from tests.smoke.xla_kit import ROOT, with_gpu

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(400)]

BACKENDS = {"driver": "", "pytorch": "torch", "cupy": "cupy", "jax": "jax", "tensorflow": "tensorflow"}
BUDGET, AROUND = 60.0, 60.0  # seconds of the comparison, and of the probes and of processes that start and end


@pytest.fixture(scope="module", params=BACKENDS)
def report(request: pytest.FixtureRequest) -> dict[str, Any]:
    backend = request.param
    argv = [sys.executable, "-m", "gpudoctor", "smoke", "compare", "--json", "--backend", backend, "--device", "0"]
    argv += ["--price", "2.50"]
    if BACKENDS[backend]:
        argv += ["--python", with_gpu(BACKENDS[backend])]
    else:
        skip_without_gpu()
    begun = time.monotonic()
    done = subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert time.monotonic() - begun < BUDGET + AROUND
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_both_columns_are_there(report: dict[str, Any]) -> None:
    (one,) = report["cpu_gpu"]
    assert one["no_gpu"] == ""
    assert one["gpu"] == "GPU 0"
    for part in one["parts"]:
        both = [size for size in part["sizes"] if size["cpu"] and size["gpu"]]
        assert both or part["part"] == "loading"


def test_large_work_pays_off(report: dict[str, Any]) -> None:
    (one,) = report["cpu_gpu"]
    matmul = next(part for part in one["parts"] if part["part"] == "matmul")
    assert matmul["pays_from"] is not None
    assert (matmul["pays_from_with_copies"] or 1 << 30) >= matmul["pays_from"]


def test_watts_and_dollars(report: dict[str, Any]) -> None:
    (one,) = report["cpu_gpu"]
    assert one["tflop_per_dollar"] > 0
    assert one["images_per_dollar"] > 0
    if one["power"] is None:
        pytest.skip("this driver reports no power")
    assert 10 < one["power"] < 2000
    assert one["tflops_per_watt"] == pytest.approx(one["rate"] / one["power"])


def test_no_finding_comes_of_it(report: dict[str, Any]) -> None:
    assert [found["check"] for found in report["findings"] if found["check"].startswith("smoke.")] == []


def test_the_loader_is_tried_in_each_way(report: dict[str, Any]) -> None:
    (one,) = report["cpu_gpu"]
    found = [part for part in one["parts"] if part["part"] == "loading"]
    assert bool(found) == (one["backend"] == "pytorch")
    for part in found:
        names = {size["name"] for size in part["sizes"] if size["gpu"]}
        assert {"0 workers", "0 workers, pinned, non-blocking"} <= names
        assert all(0 < size["computing"] <= 1 for size in part["sizes"] if size["computing"] is not None)
