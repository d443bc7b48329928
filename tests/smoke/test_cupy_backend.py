"""CuPy's backend on a stand-in: what it asks of CuPy is right, and what is ill about a device shows."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gpudoctor.workers.common import PREFIX
from gpudoctor.workers.smoke import worker
from gpudoctor.workers.smoke.backends import cupy_types
from gpudoctor.workers.smoke.backends.cupy import CupyBackend
from gpudoctor.workers.smoke.network import reference
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.tests import matmul, mnist
from tests.smoke import standin_cupy as standin
from tests.smoke.bench_kit import bench, digits, first_weights
from tests.smoke.cupy_kit import MIB, made, stand_in


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_in(monkeypatch)


# -- the device ---------------------------------------------------------------------------------------------------


def test_what_is_told_of_the_device(cupy: Any) -> None:
    cupy.STATE.devices = 2
    backend = CupyBackend({"kind": "cuda", "device": 1})
    about = backend.start()
    assert about.pop("threads") >= 1
    assert about == {
        "kind": "cuda",
        "name": "Stand-in 1",
        "processors": 132,
        "copy_engines": 3,
        "memory_free": 400 * MIB,
    }
    assert (backend.version, backend.cache, backend.capability, cupy.STATE.device) == ("14.2.0", MIB, (9, 0), 1)


def test_amds_gpus(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.runtime, "is_hip", True)
    assert made(kind="rocm").kind == "rocm"


@pytest.mark.parametrize(
    ("devices", "task", "message"),
    [
        (1, {"kind": "cpu"}, "CuPy computes on GPUs only."),
        (1, {"device": 1}, "CuPy sees 1 GPUs, but no GPU 1."),
        (
            0,
            {},
            "CuPy finds no GPU: cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime "
            "version.",
        ),
    ],
)
def test_why_it_does_not_start(cupy: Any, devices: int, task: dict[str, Any], message: str) -> None:
    cupy.STATE.devices = devices
    with pytest.raises(Unsupported) as refused:
        made(**task)
    assert str(refused.value) == message


def test_what_the_allocator_keeps_is_free(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.POOL, "free_bytes", lambda: 100 * MIB)
    assert made().free() == 500 * MIB


def test_both_allocators_give_back(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(cupy.POOL, "free_all_blocks", lambda: given.append(1))
    made().close()
    assert len(given) == 2


class OutOfMemoryError(MemoryError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OutOfMemoryError("Out of memory allocating 1,024 bytes (allocated so far: 0 bytes)."), "out-of-memory"),
        (RuntimeError("cudaErrorMemoryAllocation: out of memory"), "out-of-memory"),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"), "out-of-memory"),
        (RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered"), "device-error"),
        (RuntimeError("cudaErrorLaunchTimeout: the launch timed out and was terminated"), "device-error"),
        (RuntimeError("CUBLAS_STATUS_NOT_SUPPORTED"), "other"),
    ],
)
def test_kinds_of_errors(cupy: Any, error: Exception, kind: str) -> None:
    assert made().kind_of(error) == kind


def test_the_clock_divides_by_the_calls(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(cupy.cuda, "get_elapsed_time", lambda begun, ended: 8.0 if begun is not ended else 0.0)
    assert made().elapsed(lambda: calls.append(1), 4) == pytest.approx(0.002)  # of 8 ms
    assert len(calls) == 4


# -- products -----------------------------------------------------------------------------------------------------


def error_of(backend: CupyBackend, dtype: str) -> float:
    """The error of a product of 128 x 128."""
    with backend.precision(dtype):
        a, a64 = backend.operand(backend.host.normal(128, 128, 1), dtype, "a")
        b, b64 = backend.operand(backend.host.normal(128, 128, 2), dtype, "b")
        product = backend.multiply(a, b, dtype)
        found = matmul.deviation(bench(backend), a64, b64, backend.values(product()))
    return float(found["error"])


@pytest.mark.parametrize(("dtype", "least", "most"), [("fp32", 1e-8, 1e-6), ("tf32", 1e-4, 1e-3), ("fp16", 1e-4, 4e-4)])
def test_products(cupy: Any, dtype: str, least: float, most: float) -> None:
    assert least < error_of(made(), dtype) < most


def test_tf32_is_switched_for_one_type_and_put_back(cupy: Any) -> None:
    backend, single = made(), numpy.float32
    cupy._core.set_compute_type(single, cupy.TF32)  # as by CUPY_TF32=1
    assert error_of(backend, "fp32") < 1e-6
    assert cupy._core.get_compute_type(single) == cupy.TF32
    with pytest.raises(ValueError, match="in between"), backend.precision("fp32"):
        raise ValueError("in between")
    assert cupy._core.get_compute_type(single) == cupy.TF32


@pytest.mark.parametrize(
    ("major", "dtype", "message"),
    [
        (7, "tf32", "tf32 needs compute capability 8.0, and this GPU has 7.0."),
        (9, "fp8", "CuPy has no fp8 matmul."),
        (9, "bf16", "CuPy needs the package ml_dtypes for bf16, which is not installed."),
    ],
)
def test_types_that_it_has_not(
    cupy: Any, major: int, dtype: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    cupy.STATE.major = major
    with pytest.raises(Unsupported) as refused, made().precision(dtype):
        pass
    assert str(refused.value) == message


def test_an_older_cupy_beside_ml_dtypes(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", SimpleNamespace(bfloat16=numpy.int16))  # a type that it knows not
    assert cupy_types.lacking(made(), "bf16") == "CuPy 14.2.0 has no bf16."


def test_a_result_is_no_number_until_it_is_written(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    a, a64 = backend.operand(backend.host.normal(64, 64, 1), "fp16")
    monkeypatch.setattr(cupy, "matmul", lambda a, b, out: out)  # a product that is lost
    lost = backend.multiply(a, a, "fp16")()
    assert matmul.deviation(bench(backend), a64, a64, backend.values(lost))["not_finite"] == 64 * 64


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float16])
def test_elements_that_differ(cupy: Any, dtype: Any) -> None:
    backend = made()
    one = cupy.asarray(numpy.arange(12, dtype=dtype))
    other = cupy.asarray(numpy.arange(12, dtype=dtype))
    assert backend.unequal(one, other) == 0
    other[3] = 7
    one[5] = other[5] = float("nan")
    assert backend.unequal(one, other) == 2
    assert backend.unequal(one, one) == 1


def test_values_of_a_part(cupy: Any) -> None:
    backend = made()
    whole = cupy.asarray(numpy.arange(12, dtype=numpy.float32).reshape(3, 4))
    found = backend.values(whole[:2, 1:3])
    assert (found.tolist(), found.dtype, type(found)) == ([[1, 2], [5, 6]], numpy.float64, numpy.ndarray)


# -- the network --------------------------------------------------------------------------------------------------


def test_the_training_steps_gradients(cupy: Any) -> None:
    backend, work = made(), bench(made())
    images, labels = work.digits()
    true_loss, true = reference(backend.host, first_weights(), images, labels)
    network = backend.network(first_weights(), images, labels)
    loss, found = network.gradients()
    assert type(network.parameters[0]) is cupy.ndarray
    assert loss == pytest.approx(true_loss, rel=1e-5)
    assert max(mnist.relative(work, found, true)) < 1e-5
    network.update(0.001)
    stepped = network.loss()
    assert stepped < loss
    network.train(16, 0.001, 0)()
    assert network.loss() < stepped
    assert abs(backend.values(network.predict(4)()) - network.predict_on_cpu(4)()).max() < 1e-5


# -- through a worker ---------------------------------------------------------------------------------------------


@pytest.fixture
def reported(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Run a worker whose `import cupy` finds the stand-in, and give its lines."""
    shutil.copy(str(standin.__file__), tmp_path / "cupy.py")

    def run(*tests: str, **device: int) -> list[dict[str, Any]]:
        said = " ".join(f"{name}={value}" for name, value in device.items())
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "STANDIN_CUPY": said}
        task = {"backend": "cupy", "tests": tests, "kind": "cuda", "digits": digits()}
        done = subprocess.run(
            [sys.executable, worker.__file__],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            env=env,
            timeout=120,
            check=True,
        )
        return [json.loads(line.removeprefix(PREFIX)) for line in done.stdout.splitlines()]

    return run


def test_a_worker_on_the_stand_in(reported: Callable[..., list[dict[str, Any]]]) -> None:
    lines = reported("mixed-precision", "inference", free=300)
    found = {line["result"]["name"]: line["result"] for line in lines if "result" in line}
    assert found["mixed-precision"]["outcome"] == "unsupported"
    assert found["mixed-precision"]["message"] == "This network, written by hand, has no mixed precision."
    assert found["inference"]["outcome"] == "done"
    assert {figure["name"] for figure in found["inference"]["figures"]} >= {"gpu 256", "cpu 256", "error"}
    assert lines[-1] == {"stage": "done", "outcome": "done"}


def test_a_worker_without_a_gpu(reported: Callable[..., list[dict[str, Any]]]) -> None:
    (message,) = [line["message"] for line in reported("matmul", devices=0) if "message" in line]
    assert message.startswith("CuPy finds no GPU: cudaErrorInsufficientDriver: ")
