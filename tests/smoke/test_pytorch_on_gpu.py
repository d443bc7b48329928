"""Every smoke test on a real GPU with a real PyTorch: what it measures is right, whatever the GPU."""

import functools
import subprocess
from typing import Any

import pytest

from tests.smoke.bench_kit import Done
from tests.smoke.torch_kit import by_variant, inside, with_torch, worker

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

# How far products may be off float64, by the rounding of their type and no more.
ERRORS = {"fp32": 1e-5, "tf32": 1.5e-3, "fp16": 1e-3, "bf16": 8e-3, "fp8": 1e-2}
MIB = 1 << 20


@functools.cache
def gpus() -> tuple[str, int]:
    """An interpreter whose PyTorch reaches GPUs, and how many."""
    python = with_torch()
    if python is None:
        return "", 0
    code = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=300)
    return python, int(done.stdout.split()[-1]) if done.returncode == 0 else 0


@pytest.fixture
def python() -> str:
    found, count = gpus()
    if not count:
        pytest.skip("no PyTorch here reaches a GPU; GPUDOCTOR_TORCH names the interpreter of one that does")
    return found


def run(python: str, name: str, **more: Any) -> dict[str, Done]:
    """The results of one test by variant; none of them failed."""
    found = by_variant(worker(python, name, "cuda", **more), name)
    assert found
    assert {variant: done.message for variant, done in found.items() if done.outcome == "failed"} == {}
    return found


def test_the_device(python: str) -> None:
    about = inside(python, "tell(about)", "cuda")
    assert about["kind"] in ("cuda", "rocm")
    assert about["name"]
    assert about["processors"] > 0
    assert about["memory_free"] > 0
    assert about["kind"] == "rocm" or about["copy_engines"] >= 1


def test_products_are_right_in_each_type(python: str) -> None:
    found = run(python, "matmul")
    assert set(found) == set(ERRORS)
    done = {dtype: one for dtype, one in found.items() if one.outcome == "done"}
    assert {"fp32", "fp16"} <= set(done)
    for dtype, one in done.items():
        assert 0 < one.figures["error"] < ERRORS[dtype], dtype
        assert 0 < one.notes["part_error"] < ERRORS[dtype], dtype
        assert one.notes["not_finite"] == one.notes["not_repeated"] == 0, dtype
        assert one.figures["rate"] > 0
    if "tf32" in done:
        assert done["tf32"].figures["error"] > 20 * done["fp32"].figures["error"]  # it was really used, and really off


def test_the_training_step_is_right(python: str) -> None:
    (done,) = run(python, "mnist").values()
    assert done.figures["gradient error"] < 1e-4
    assert done.figures["loss error"] < 1e-5
    assert done.figures["step error"] < 1e-4
    assert done.figures["descent"] == pytest.approx(1.0, abs=0.05)
    assert done.figures["loss left"] < 0.9


def test_tf32_would_show_in_the_gradients(python: str) -> None:
    lines = """
true = backend.reference(Weights(CNN), images, labels)[1]
def off():
    found = backend.network(Weights(CNN), images, labels).gradients()[1]
    return max(backend.host.norm(a - b) / backend.host.norm(b) for a, b in zip(found, true))
strict = off()
from gpudoctor.workers.smoke.backends import pytorch
switched = pytorch.switched
pytorch.switched = lambda torch, dtype: switched(torch, "tf32")
tell([backend.lacks("tf32"), strict, off()])
"""
    lacks, strict, loose = inside(python, lines, "cuda")
    if lacks:
        pytest.skip(lacks)
    assert strict < 1e-4 < 1e-3 < loose


def test_mixed_precision_is_taken(python: str) -> None:
    (done,) = run(python, "mixed-precision").values()
    assert done.notes["not_finite"] == 0
    assert 1e-5 < done.figures["difference"] < 0.2
    assert done.figures["gradient error"] < 0.2


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_gradients_are_unscaled(python: str, dtype: str) -> None:
    lines = f"""
from gpudoctor.workers.smoke.runner import Unsupported
true = backend.reference(Weights(CNN), images, labels)[1]
network = backend.network(Weights(CNN), images, labels)
try:
    found = network.gradients({dtype!r}, 2.0 ** 10)[1]
    tell(max(backend.host.norm(a - b) / backend.host.norm(b) for a, b in zip(found, true)))
except Unsupported as reason:
    tell(str(reason))
"""
    found = inside(python, lines, "cuda")
    if isinstance(found, str):
        pytest.skip(found)
    assert 1e-5 < found < 0.1


def test_bytes_come_back_as_they_went(python: str) -> None:
    (done,) = run(python, "transfer").values()
    assert (done.notes["differing"], done.notes["pieces_differing"]) == (0, 0)
    assert done.notes["pinned_refused"] or done.notes["pinned"] is True
    assert {"h2d pageable", "d2h pageable"} <= set(done.figures)
    assert min(done.figures.values()) > 0.1


def test_streams_keep_their_order(python: str) -> None:
    (done,) = run(python, "overlap").values()
    assert done.notes["wrong"] == 0
    assert done.figures["copy"] / 3 < done.figures["compute"] < 3 * done.figures["copy"]
    assert -0.2 < done.figures["overlap"] < 1.2


def test_blocking_launches_overlap_nothing(python: str) -> None:
    (done,) = run(python, "overlap", env={"CUDA_LAUNCH_BLOCKING": "1", "AMD_SERIALIZE_KERNEL": "3"}).values()
    assert done.notes["wrong"] == 0
    assert done.figures["overlap"] < 0.4


def test_the_memory_holds_what_is_written(python: str) -> None:
    (done,) = run(python, "bandwidth").values()
    assert done.notes["wrong"] == 0
    assert min(done.figures.values()) > 1


def test_outputs_agree_with_the_cpus(python: str) -> None:
    found = run(python, "inference")
    assert found["fp32"].figures["error"] < 1e-4
    assert "bf16" not in found or found["bf16"].figures["error"] < 3e-2


def test_compiled_kernels_are_right(python: str) -> None:
    found = run(python, "fused")
    for way, done in found.items():
        assert done.outcome == "unsupported" or 0 < done.figures["error"] < 2e-6, way


def test_no_element_changes_under_load(python: str) -> None:
    (done,) = run(python, "stress").values()
    assert (done.notes["wrong"], done.notes["not_finite"]) == (0, 0)
    assert done.notes["products"] > 10


def test_bits_are_counted_on_the_device(python: str) -> None:
    lines = """
one = torch.ones(1000, dtype=torch.bfloat16, device=backend.device)
other = one.clone()
equal = backend.unequal(one, other)
other.view(torch.int16)[123] ^= 1
other[456] = float("nan")
tell([equal, backend.unequal(one, other), backend.unequal(other, other)])
"""
    assert inside(python, lines, "cuda") == [0, 2, 1]


def test_switches_are_put_back_without_a_warning(python: str) -> None:
    lines = """
warnings.simplefilter("error")
from gpudoctor.workers.smoke.backends.pytorch.precision import _switches, has
def seen():
    return [str(getattr(place, name)) for place, name, _ in _switches(torch, "fp32") if has(place, name)]
before = seen()
for dtype in ("fp32", "tf32", "bf16"):
    if not backend.lacks(dtype):
        with backend.precision(dtype):
            backend.multiply(*(backend.operand(backend.host.normal(64, 64, 1), dtype)[0] for _ in "ab"), dtype)()
tell([before, seen()])
"""
    before, after = inside(python, lines, "cuda")
    assert before == after


def test_a_device_side_assert_is_a_dead_context(python: str) -> None:
    lines = """
kind = ""
try:
    torch.zeros(4, device=backend.device)[torch.full((1,), 99, device=backend.device)].cpu()
except Exception as error:
    kind = backend.kind_of(error)
tell(kind)
import os; os._exit(0)
"""
    assert inside(python, lines, "cuda") == "device-error"


def test_a_full_memory_is_told_as_such(python: str) -> None:
    lines = """
try:
    torch.empty(1 << 50, dtype=torch.uint8, device=backend.device)
except Exception as error:
    tell([backend.kind_of(error)])
"""
    assert inside(python, lines, "cuda") == ["out-of-memory"]


def test_one_gpu_has_no_peer(python: str) -> None:
    found = worker(python, "peer allreduce", "cuda", devices=1)
    assert [(done.outcome, done.message) for done in found] == [
        ("unsupported", "GPU-to-GPU copy needs two GPUs, and PyTorch sees 1."),
        ("unsupported", "All-reduce needs two GPUs, and PyTorch sees 1."),
    ]


def test_nccl_sums_on_one_gpu(python: str) -> None:
    lines = """
from gpudoctor.workers.smoke.backends.pytorch.ranks import allreduce
backend.peers = lambda: 1
tell(allreduce(backend, 1 << 20, lambda: None))
"""
    found = inside(python, lines, "cuda")
    assert (found["ranks"], found["wrong"], found["bytes"]) == (1, 0, MIB)
    assert found["transport"] in ("nccl", "rccl")
    assert len(found["seconds"]) == 10


@pytest.fixture
def several(python: str) -> str:
    if gpus()[1] < 2:
        pytest.skip("this machine has one GPU, and the test needs two")
    return python


def test_bytes_arrive_at_the_other_gpus(several: str) -> None:
    found = run(several, "peer", devices=gpus()[1])
    assert {variant: done.notes["differing"] for variant, done in found.items()} == dict.fromkeys(found, 0)
    assert min(done.figures["rate"] for done in found.values()) > 0.1


def test_all_gpus_reach_the_same_sum(several: str) -> None:
    (done,) = run(several, "allreduce", devices=gpus()[1]).values()
    assert (done.notes["wrong"], done.notes["ranks"]) == (0, gpus()[1])
    assert done.figures["bus rate"] > 0.1


def test_gradients_of_all_gpus_equal_those_of_one(several: str) -> None:
    (done,) = run(several, "data-parallel", devices=gpus()[1]).values()
    assert done.outcome == "done"
    assert done.figures["gradient error"] < 1e-4
    assert done.figures["step error"] < 1e-4
    assert (done.notes["differing"], done.notes["ranks"]) == (0, gpus()[1])
    assert 0 < done.figures["scaling"] < 1.2 * gpus()[1]


# A rank of one that steps over NCCL, which needs no second GPU: it measures times, too.
ALONE = """
from gpudoctor.workers.smoke.backends.pytorch.ddp import data_parallel
from gpudoctor.workers.smoke.weights import Batch
found = data_parallel(backend, Batch(Weights(CNN), images, labels), 1, 0.005, 64, lambda: None)
with backend.precision("fp32"):
    alone = backend.network(Weights(CNN), images, labels).gradients()[1]
def off(one, other): return backend.host.norm(one - other) / backend.host.norm(other)
errors = list(map(off, found["gradients"][0], alone))
tell([found["transport"], max(errors), len(found["seconds"]), min(found["seconds"]) > 0])
"""


def test_a_step_over_nccl_on_one_gpu(python: str) -> None:
    transport, error, times, positive = inside(python, ALONE, "cuda")
    assert transport in ("nccl", "rccl")
    assert error < 1e-4
    assert (times, positive) == (4, True)
