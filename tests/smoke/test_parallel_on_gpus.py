"""A data-parallel step of TensorFlow and JAX over several GPUs; PyTorch's is in test_pytorch_on_gpu.py."""

import ctypes

import pytest

from gpudoctor.workers.smoke.cuda.library import NAME
from tests.smoke.xla_kit import with_gpu, worked

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]


def gpus() -> int:
    """How many GPUs the driver lists."""
    cuda, count = ctypes.CDLL(NAME), ctypes.c_int()
    return count.value if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_gradients_of_all_gpus_equal_those_of_one(backend: str) -> None:
    python, count = with_gpu(backend), gpus()
    done = worked(python, backend, "data-parallel", kind="cuda", devices=count).only("data-parallel")
    if count < 2:
        assert done.outcome == "unsupported"
        assert "needs two GPUs" in done.message
        pytest.skip("this machine has one GPU, and the rest of the test needs two")
    assert done.outcome == "done", done.message
    assert 0 < done.figures["gradient error"] < 1e-4
    assert (done.notes["differing"], done.notes["ranks"], done.notes["transport"]) == (0, count, "nccl")
    assert done.figures["scaling"] > 0
