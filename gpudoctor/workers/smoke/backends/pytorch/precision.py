"""Which data types PyTorch multiplies on a device, and the switches that decide in which precision it does."""

from __future__ import annotations

import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8": "float8_e4m3fn"}
RESULTS = dict(TYPES, fp8="bfloat16")
# The compute capability whose tensor cores have a type
# (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications).
CAPABILITY = {"tf32": (8, 0), "bf16": (8, 0), "fp8": (8, 9)}
# From this release on torch._scaled_mm has the arguments that it is given here and returns the product alone.
SCALED_PRODUCTS = (2, 5)
# A CPU without instructions for a type takes some 50 times as long as in float32, or 300 times.
PROBED, TOO_SLOW = 256, 10


def lacks_on_gpu(torch: Any, dtype: str, capability: tuple[int, int] | None) -> str:
    """Why a GPU or this PyTorch has no such type, as a sentence; empty where they have.

    Args:
        torch: the module.
        dtype: as in `--dtype`.
        capability: the compute capability; None: an AMD GPU.
    """
    if capability is None:
        return {
            "tf32": "PyTorch computes in TF32 on NVIDIA's GPUs.",
            "fp8": "AMD GPUs use other fp8 formats, and this test supports only NVIDIA's.",
        }.get(dtype, "")
    wanted = CAPABILITY.get(dtype, (0, 0))
    if capability < wanted:
        return "%s needs compute capability %d.%d, and this GPU has %d.%d." % ((dtype, *wanted, *capability))
    if dtype == "fp8" and (not hasattr(torch, TYPES["fp8"]) or release(torch) < SCALED_PRODUCTS):
        return "PyTorch has fp8 matmul since 2.5, and this is %s." % torch.__version__
    return ""


def lacks_on_cpu(torch: Any, dtype: str) -> str:
    """Why the CPU has no such type, as a sentence; empty where it has.

    Whether a CPU multiplies 16-bit numbers well, PyTorch says in no release in the same way; so it is timed.
    """
    if dtype == "fp32":
        return ""
    if dtype == "tf32":
        return "TF32 is a format of NVIDIA's GPUs, and this is the CPU."
    if dtype == "fp8":
        return "PyTorch's fp8 matmul is for GPUs, and this is the CPU."
    try:
        slower = _seconds(torch, dtype) / _seconds(torch, "fp32")
    except RuntimeError as error:
        return "PyTorch has no matmul in %s on the CPU: %s." % (dtype, str(error).strip().rstrip("."))
    if slower > TOO_SLOW:
        return "This CPU has no %s arithmetic: a matmul takes %d times as long as in fp32." % (dtype, slower)
    return ""


def _seconds(torch: Any, dtype: str) -> float:
    """The CPU's seconds for the fastest of some small products on one thread, so that other work does not count."""
    a = torch.ones(PROBED, PROBED, device="cpu").to(getattr(torch, TYPES[dtype]))
    threads, times = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for _ in range(5):
            begun = time.thread_time()
            torch.mm(a, a)
            times.append(time.thread_time() - begun)
    finally:
        torch.set_num_threads(threads)
    return max(min(times), 1e-6)


def release(torch: Any) -> tuple[int, ...]:
    """The first two numbers of PyTorch's version."""
    return tuple(int(part) for part in str(torch.__version__).split(".")[:2] if part.isdigit())


def has(place: Any, name: str) -> bool:
    """Whether there is such a switch; where there is none, PyTorch 1.13 raises AssertionError, not AttributeError."""
    try:
        getattr(place, name)
    except (AttributeError, AssertionError):
        return False
    return True


@contextmanager
def switched(torch: Any, dtype: str) -> Iterator[None]:
    """Set the switches for a data type, and put them back."""
    found = [(place, name, value) for place, name, value in _switches(torch, dtype) if has(place, name)]
    before = [getattr(place, name) for place, name, _ in found]
    try:
        for place, name, value in found:
            setattr(place, name, value)
        yield
    finally:
        for (place, name, _), value in zip(found, before):
            setattr(place, name, value)


def _switches(torch: Any, dtype: str) -> list[tuple[Any, str, Any]]:
    """Where, name and value of each switch; some are missing in older releases.

    PyTorch 2.9 brought `fp32_precision` and warns about `allow_tf32`; where one of both was set alone, reading the
    other raises an error. cuDNN's TF32 is on unless somebody turns it off, and partial sums of products in 16 bits
    may be added in 16 bits unless somebody forbids it.
    """
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    switches = [
        (cudnn, "benchmark", False),
        (cudnn, "deterministic", True),
        (matmul, "allow_fp16_reduced_precision_reduction", False),
        (matmul, "allow_bf16_reduced_precision_reduction", False),
    ]
    if has(matmul, "fp32_precision"):
        name, value = "fp32_precision", "tf32" if dtype == "tf32" else "ieee"
        return [*switches, (matmul, name, value), (cudnn.conv, name, value), (cudnn.rnn, name, value)]
    return [*switches, (matmul, "allow_tf32", dtype == "tf32"), (cudnn, "allow_tf32", dtype == "tf32")]
