"""What the backends of TensorFlow and JAX share: the errors of XLA, what a device can do, the function of `fused`."""

from __future__ import annotations

import math

from ..weights import DEVIATION, MEAN
from . import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .base import Base

# Least compute capability with the arithmetic in hardware (CUDA C++ Programming Guide, "Compute Capabilities").
LEAST = {"tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9)}
CPU = {
    "tf32": "TF32 is a format of NVIDIA's GPUs, and this is the CPU.",
    "fp8": "fp8 matmul is for GPUs, and this is the CPU.",
}
AMD = {
    "tf32": "TF32 is a format of NVIDIA's GPUs.",
    "fp8": "AMD GPUs use other fp8 formats, and this test supports only NVIDIA's.",
}
UNKNOWN_MEMORY = 2 << 30  # bytes that are taken for free where nobody says how many are
# On the CPU a type without vector instructions takes some 50 times as long as float32, or 300 times: the rows and
# columns of the product that tells, how often it is tried, and how many times as long is too long.
TRIAL, TRIALS, TOO_SLOW = 256, 5, 10
# Of the function gelu(a x + b) + c; c keeps it away from zero, where a relative error means nothing.
A, B, C = 1.5, -0.25, 2.0
SAMPLE = 4096  # elements of it that are compared with float64

FULL = ("ResourceExhaustedError", "OOM when allocating")
# What XLA and TensorFlow say after the error that killed the context.
DEAD = ("CUDA_ERROR_ASSERT", "CUDA_ERROR_CONTEXT_IS_DESTROYED", "in an error state")


def kind_of(error: BaseException) -> str:
    """Tell by an error's type and words what it is: "out-of-memory", "device-error" or "other"."""
    kind = errors.kind_of(error)
    text = "%s: %s" % (type(error).__name__, error)
    if kind == "other" and any(word in text for word in DEAD):
        return "device-error"
    return "out-of-memory" if kind == "other" and any(word in text for word in FULL) else kind


def lacks(backend: Base, capability: tuple[int, int] | None, dtype: str) -> str:
    """Why a device has no arithmetic in a data type, as a sentence; empty where it has.

    Args:
        backend: on its device; on the CPU a small product is tried.
        capability: the compute capability; None: the device has none, or nobody says.
        dtype: the data type.
    """
    if backend.kind == "cpu":
        return _lacks_on_cpu(backend, dtype)
    if backend.kind == "rocm":
        return AMD.get(dtype, "")
    least = LEAST.get(dtype)
    if least and capability and capability < least:
        return "%s needs compute capability %d.%d, and this GPU has %d.%d." % ((dtype, *least, *capability))
    return ""


def _lacks_on_cpu(backend: Base, dtype: str) -> str:
    """No framework tells which types the CPU's vector instructions have, so a product is timed."""
    if dtype in CPU or dtype == "fp32":
        return CPU.get(dtype, "")
    slower = _seconds(backend, dtype) / max(_seconds(backend, "fp32"), 1e-9)
    if slower < TOO_SLOW:
        return ""
    return "This CPU has no %s arithmetic: a matmul takes %d times as long as in fp32." % (dtype, slower)


def _seconds(backend: Base, dtype: str) -> float:
    """The shortest of some small products; the first, which is compiled, does not count."""
    values = backend.host.normal(TRIAL, TRIAL, 1)
    a, b = (backend.operand(values, dtype, side)[0] for side in "ab")
    product = backend.multiply(a, b, dtype)
    backend.elapsed(product, 1)
    return min(backend.elapsed(product, 1) for _ in range(TRIALS))


def batch(numpy: Any, images: Any, labels: bytes) -> tuple[Any, Any]:
    """Normalised images, (count, 28, 28) in float32, or the samples as they are; and labels in int32."""
    if not isinstance(images, bytes):
        return images, numpy.frombuffer(labels, numpy.uint8).astype(numpy.int32)
    levels = numpy.frombuffer(images, numpy.uint8).reshape(len(labels), 28, 28).astype(numpy.float32)
    normal = (levels / numpy.float32(255) - numpy.float32(MEAN)) / numpy.float32(DEVIATION)
    return normal, numpy.frombuffer(labels, numpy.uint8).astype(numpy.int32)


def rows(numpy: Any, batch_size: int, step: int, count: int) -> Any:
    """Which images a training step sees: `step * batch_size` and the following, modulo their number."""
    return numpy.arange(step * batch_size, (step + 1) * batch_size) % count


def gelu_error(x: Any, y: Any) -> float:
    """The largest relative difference of y from gelu(a x + b) + c in float64.

    Args:
        x: some of the elements, as numbers of Python or NumPy.
        y: what the kernel made of them.
    """
    worst = 0.0
    for one, found in zip(x, y):
        z = A * float(one) + B
        true = 0.5 * z * (1.0 + math.erf(z / math.sqrt(2.0))) + C
        error = abs(float(found) - true) / abs(true)
        worst = error if error != error else max(worst, error)
        if worst != worst:
            return 1e9
    return worst
