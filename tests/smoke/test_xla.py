"""What TensorFlow's and JAX's backends share: what an error is, which types a device has, the formula, the batch."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpudoctor.workers.smoke.backends import xla
from gpudoctor.workers.smoke.host_math import NumpyHost
from gpudoctor.workers.smoke.network import ArrayNetwork
from gpudoctor.workers.smoke.weights import CNN, Weights


class ResourceExhaustedError(Exception):
    """As TensorFlow names it."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ResourceExhaustedError("failed to allocate memory [Op:MatMul]"), "out-of-memory"),
        (RuntimeError("OOM when allocating tensor with shape[8192,8192] and type float"), "out-of-memory"),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 268435456 bytes."), "out-of-memory"),
        (RuntimeError("INTERNAL: CUDA error: CUDA_ERROR_ILLEGAL_ADDRESS"), "device-error"),
        (RuntimeError("INTERNAL: CUDA_ERROR_ASSERT: device-side assert"), "device-error"),
        (RuntimeError("INTERNAL: stream is uninitialized or in an error state"), "device-error"),
        (RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS after OOM when allocating tensor"), "device-error"),
        (ValueError("Incompatible shapes for matmul arguments"), "other"),
        (RuntimeError("UNIMPLEMENTED: no kernel"), "other"),
    ],
)
def test_what_an_error_is(error: Exception, kind: str) -> None:
    assert xla.kind_of(error) == kind


T4, A100, A6000, H100 = (7, 5), (8, 0), (8, 6), (9, 0)


@pytest.mark.parametrize(
    ("kind", "capability", "dtype", "message"),
    [
        ("cuda", T4, "fp32", ""),
        ("cuda", T4, "fp16", ""),
        ("cuda", T4, "bf16", "bf16 needs compute capability 8.0, and this GPU has 7.5."),
        ("cuda", T4, "tf32", "tf32 needs compute capability 8.0, and this GPU has 7.5."),
        ("cuda", A100, "tf32", ""),
        ("cuda", A6000, "fp8", "fp8 needs compute capability 8.9, and this GPU has 8.6."),
        ("cuda", H100, "fp8", ""),
        ("cuda", None, "fp8", ""),
        ("rocm", None, "bf16", ""),
        ("rocm", None, "tf32", "TF32 is a format of NVIDIA's GPUs."),
        ("rocm", None, "fp8", "AMD GPUs use other fp8 formats, and this test supports only NVIDIA's."),
        ("cpu", None, "fp32", ""),
        ("cpu", None, "tf32", "TF32 is a format of NVIDIA's GPUs, and this is the CPU."),
        ("cpu", None, "fp8", "fp8 matmul is for GPUs, and this is the CPU."),
    ],
)
def test_which_types_a_device_has(kind: str, capability: Any, dtype: str, message: str) -> None:
    assert xla.lacks(SimpleNamespace(kind=kind), capability, dtype) == message  # type: ignore[arg-type]


class Slow:
    """A CPU on which a product takes so many seconds, by data type; the first call compiles."""

    kind, host = "cpu", NumpyHost()

    def __init__(self, **seconds: float) -> None:
        self.seconds, self.compiled = seconds, set[str]()

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        return values, values

    def multiply(self, a: Any, b: Any, dtype: str) -> Any:
        return dtype

    def elapsed(self, call: Any, times: int) -> float:
        first = call not in self.compiled
        self.compiled.add(call)
        return 60.0 if first else self.seconds[call]


def test_a_cpu_without_instructions_for_a_type() -> None:
    slow: Any = Slow(fp32=1e-3, fp16=55e-3, bf16=9e-3)
    message = "This CPU has no fp16 arithmetic: a matmul takes 55 times as long as in fp32."
    assert (xla.lacks(slow, None, "fp16"), xla.lacks(slow, None, "bf16")) == (message, "")


def test_the_batch_has_the_bits_of_the_references() -> None:
    images, labels = bytes(range(256)) * 49 + bytes(784 * 4), bytes(at * 7 % 10 for at in range(20))
    net = ArrayNetwork(np, Weights(CNN), images, labels, np.float32)
    normal, numbers = xla.batch(np, images, labels)
    assert (normal.dtype, numbers.dtype) == (np.float32, np.int32)
    assert np.array_equal(normal[:, None], net.images)
    assert np.array_equal(numbers, net.labels)


@pytest.mark.parametrize(
    ("step", "found"), [(0, [0, 1, 2, 3]), (1, [4, 5, 6, 7]), (2, [8, 9, 0, 1]), (25, [0, 1, 2, 3])]
)
def test_a_step_sees_the_images_modulo_their_number(step: int, found: list[int]) -> None:
    assert xla.rows(np, 4, step, 10).tolist() == found


def gelu(x: float) -> float:
    z = xla.A * x + xla.B
    return 0.5 * z * (1 + math.erf(z / 2**0.5)) + xla.C


def test_the_formula_in_float64() -> None:
    xs = [-4.0, -0.3, 0.0, 0.1, 3.9]
    right = [gelu(x) for x in xs]
    assert xla.gelu_error(xs, right) < 1e-15
    assert xla.gelu_error(xs, [*right[:4], right[4] * 1.001]) == pytest.approx(1e-3)
    assert xla.gelu_error(xs, [*right[:2], math.nan, *right[3:]]) == 1e9
    tanh = [0.5 * z * (1 + math.tanh((2 / math.pi) ** 0.5 * (z + 0.044715 * z**3))) + xla.C for z in [xla.A + xla.B]]
    assert xla.gelu_error([1.0], tanh) > 1e-5  # gelu by tanh is another function
