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

from gpudoctor.inside.common import PREFIX
from gpudoctor.inside.smoke import worker
from gpudoctor.inside.smoke.backends import cupy_kernels, cupy_types
from gpudoctor.inside.smoke.backends.cupy import Backend
from gpudoctor.inside.smoke.bench import Bench, Unsupported
from gpudoctor.inside.smoke.network import reference
from gpudoctor.inside.smoke.tests import matmul, mnist, transfer
from tests.smoke import standin_cupy as standin
from tests.smoke.bench_kit import bench, digits, first_weights, results

KIB = 1 << 10
MIB = 1 << 20


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stand-in, as new, in CuPy's place."""
    monkeypatch.setattr(standin, "STATE", standin.State())
    for name, module in standin.modules(sys.modules[standin.__name__]).items():
        monkeypatch.setitem(sys.modules, name, module)
    return standin


def made(**task: Any) -> Backend:
    """A backend that has taken its device."""
    backend = Backend({"kind": "cuda", **task})
    backend.start()
    return backend


def on(backend: Backend, **task: Any) -> Bench:
    return bench(backend, **task)


# -- the device ---------------------------------------------------------------------------------------------------


def test_what_is_told_of_the_device(cupy: Any) -> None:
    cupy.STATE.devices = 2
    backend = Backend({"kind": "cuda", "device": 1})
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
    ("devices", "task", "says"),
    [
        (1, {"kind": "cpu"}, "CuPy computes on a GPU alone."),
        (1, {"device": 1}, "CuPy sees 1 GPUs, and none has the number 1."),
        (
            0,
            {},
            "CuPy finds no GPU: cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime "
            "version.",
        ),
    ],
)
def test_why_it_does_not_start(cupy: Any, devices: int, task: dict[str, Any], says: str) -> None:
    cupy.STATE.devices = devices
    with pytest.raises(Unsupported) as refused:
        made(**task)
    assert str(refused.value) == says


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


def error_of(backend: Backend, dtype: str) -> float:
    """The error of a product of 128 x 128."""
    with backend.precision(dtype):
        a, a64 = backend.operand(backend.host.normal(128, 128, 1), dtype, "a")
        b, b64 = backend.operand(backend.host.normal(128, 128, 2), dtype, "b")
        product = backend.multiply(a, b, dtype)
        found = matmul.deviation(on(backend), a64, b64, backend.values(product()))
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
    ("major", "dtype", "says"),
    [
        (7, "tf32", "tf32 needs compute capability 8.0, and this GPU has 7.0."),
        (9, "fp8", "CuPy has no products in fp8."),
        (9, "bf16", "CuPy has bf16 only beside the package ml_dtypes, which is not installed."),
    ],
)
def test_types_that_it_has_not(cupy: Any, major: int, dtype: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    cupy.STATE.major = major
    with pytest.raises(Unsupported) as refused, made().precision(dtype):
        pass
    assert str(refused.value) == says


def test_an_older_cupy_beside_ml_dtypes(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", SimpleNamespace(bfloat16=numpy.int16))  # a type that it knows not
    assert cupy_types.lacking(made(), "bf16") == "CuPy 14.2.0 has no bf16."


def test_a_result_is_no_number_until_it_is_written(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    a, a64 = backend.operand(backend.host.normal(64, 64, 1), "fp16")
    monkeypatch.setattr(cupy, "matmul", lambda a, b, out: out)  # a product that is lost
    lost = backend.multiply(a, a, "fp16")()
    assert matmul.deviation(on(backend), a64, a64, backend.values(lost))["not_finite"] == 64 * 64


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
    backend, work = made(), on(made())
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


# -- copies -------------------------------------------------------------------------------------------------------


def test_copies_arrive(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LARGE", 4 * MIB)
    monkeypatch.setattr(transfer, "WARM_SECONDS", 0.0)
    (done,) = results(transfer.run, on(made()))
    assert (done.outcome, done.notes["pinned"]) == ("done", True)
    assert (done.notes["differing"], done.notes["pieces_differing"]) == (0, 0)
    assert len(done.figures) == 4


def test_the_driver_says_whether_memory_is_pinned(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    assert (backend.transfer(KIB, True).pinned, backend.transfer(KIB, False).pinned) == (True, False)
    cupy.STATE.pinned.clear()
    monkeypatch.setattr(cupy.runtime, "pointerGetAttributes", lambda _: SimpleNamespace(type=0))
    assert backend.transfer(KIB, True).pinned is False
    monkeypatch.setattr(cupy.runtime, "is_hip", True)
    assert backend.transfer(KIB, True).pinned is None


def test_too_much_to_pin(cupy: Any) -> None:
    cupy.STATE.pinnable = MIB
    with pytest.raises(MemoryError, match=r"^2 MiB cannot be pinned: cudaErrorMemoryAllocation: out of memory$"):
        made().transfer(2 * MIB, True)


def test_a_lost_copy_shows(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    copies = backend.transfer(64 * KIB, True)
    copies.fill(1)
    copies.clear()
    monkeypatch.setattr(cupy.runtime, "memcpyAsync", lambda *_: None)
    copies.to_device()
    copies.to_host()
    assert copies.differing() == pytest.approx(64 * KIB, rel=0.01)
    assert copies.piece(11, 4096) > 4000


def test_streams_keep_their_order(cupy: Any) -> None:
    assert made().overlap(64 * KIB).ordered() == 0


def test_a_stream_that_does_not_wait_shows(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.Stream, "wait_event", lambda *_: None)
    assert made().overlap(64 * KIB).ordered() > 60 * KIB


def test_each_direction_and_the_products_have_a_stream(cupy: Any) -> None:
    beside = made().overlap(KIB)
    beside.copy()
    beside.copy_back()
    queues = [len(stream.queue) for stream in (beside.there_goes, beside.here_comes, beside.computing)]  # type: ignore[attr-defined]
    assert queues == [1, 1, 0]
    beside.compute(2)
    beside.wait()
    assert (beside.there.get() == beside.source).all()  # type: ignore[attr-defined]
    assert float(abs(beside.product).max()) > 1  # type: ignore[attr-defined]


# -- vectors and kernels ------------------------------------------------------------------------------------------


def test_vectors(cupy: Any) -> None:
    vectors = made().vectors(5000)
    assert vectors.wrong() > 9900
    vectors.copy()
    vectors.triad()
    vectors.read()
    assert (vectors.wrong(), vectors.triad_bytes) == (0, 3)
    vectors.z[7] += 1  # type: ignore[attr-defined]
    vectors.y[8] += 1  # type: ignore[attr-defined]
    assert vectors.wrong() == 2


def test_both_ways_of_compiling(cupy: Any) -> None:
    ways = made().fused(10000)
    assert [way.way for way in ways] == ["ElementwiseKernel", "fuse"]
    for way in ways:
        way.compile()
        assert way.error() < 1e-6
        assert way.compile_seconds > 0
        way.eager()


def test_a_kernel_that_computes_something_else_shows(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand, traced = made().fused(10000)
    monkeypatch.setattr(cupy_kernels, "GELU", (*cupy_kernels.GELU[:2], "y = 1.5f * x", "wrong"))
    monkeypatch.setattr(cupy_kernels, "B", 0.0)
    for way in (by_hand, traced):
        way.compile()
        assert way.error() > 0.1


def test_a_kernel_that_never_ran_shows(cupy: Any) -> None:
    by_hand = made().fused(10000)[0]
    assert by_hand.error() >= 1e9


# -- between devices ----------------------------------------------------------------------------------------------


@pytest.fixture
def two(cupy: Any) -> Any:
    cupy.STATE.devices = 2
    return cupy


def test_the_task_may_allow_fewer_devices(cupy: Any) -> None:
    cupy.STATE.devices = 4
    assert [made(devices=devices).peers() for devices in (None, 2, 8)] == [4, 2, 4]


def test_copies_from_gpu_to_gpu(two: Any) -> None:
    peer = made().peer(0, 1, 70001)
    assert peer.can_access is True
    assert two.STATE.peers == {(0, 1), (1, 0)}
    assert peer.differing() > 60000
    peer.copy()
    peer.wait()
    assert peer.differing() == 0
    peer.here[123] ^= 1  # type: ignore[attr-defined]
    assert peer.differing() == 1
    assert made().peer(0, 1, KIB).can_access is True  # where access is open already
    assert two.STATE.device == 0


def test_devices_that_do_not_reach_each_other(two: Any) -> None:
    two.STATE.access = False
    assert made().peer(0, 1, KIB).can_access is False
    assert two.STATE.peers == set()


def test_sums_over_all_devices(two: Any) -> None:
    pauses: list[int] = []
    found = made().allreduce(4096, lambda: pauses.append(1))
    seconds = found.pop("seconds")
    assert found == {"ranks": 2, "transport": "nccl", "wrong": 0, "bytes": 4096}
    assert (len(seconds), len(pauses)) == (10, 13)


def test_a_rank_that_is_left_out_shows(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two.Communicator, "lost", 1)
    assert made().allreduce(4096, lambda: None)["wrong"] == 2 * (1024 + 2048)  # of float32 and of bf16, on both


def test_sums_on_amds(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two.runtime, "is_hip", True)
    assert made().allreduce(4096, lambda: None)["transport"] == "rccl"


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (SimpleNamespace(available=False), "CuPy finds no NCCL, which is a package of its own beside it."),
        (None, "CuPy cannot load NCCL: import of cupy.cuda.nccl halted; None in sys.modules."),
    ],
)
def test_without_nccl(two: Any, module: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", module)
    with pytest.raises(Unsupported) as refused:
        made().allreduce(4096, lambda: None)
    assert str(refused.value) == says


def test_communicators_are_taken_down_after_an_error(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[int] = []
    monkeypatch.setattr(two.Communicator, "destroy", lambda _: gone.append(1))

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made().allreduce(4096, stop)
    assert len(gone) == 2


# -- through a worker ---------------------------------------------------------------------------------------------


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
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


def test_a_worker_on_the_stand_in(told: Callable[..., list[dict[str, Any]]]) -> None:
    lines = told("mixed-precision", "inference", free=300)
    found = {line["result"]["name"]: line["result"] for line in lines if "result" in line}
    assert found["mixed-precision"]["outcome"] == "unsupported"
    assert found["mixed-precision"]["says"] == "This network, written out by hand, has no mixed precision."
    assert found["inference"]["outcome"] == "done"
    assert {figure["name"] for figure in found["inference"]["figures"]} >= {"gpu 256", "cpu 256", "error"}
    assert lines[-2:][0] == {"outcome": "done"}


def test_a_worker_without_a_gpu(told: Callable[..., list[dict[str, Any]]]) -> None:
    (says,) = [line["says"] for line in told("matmul", devices=0) if "says" in line]
    assert says.startswith("CuPy finds no GPU: cudaErrorInsufficientDriver: ")
