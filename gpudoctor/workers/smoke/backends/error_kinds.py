"""What an error of a framework means, as far as its type and its words tell."""

from __future__ import annotations

# Words by which frameworks tell that the memory is full, and that a device's context is dead. The names are those of
# cudaError_t and CUresult (https://docs.nvidia.com/cuda/cuda-runtime-api/), of HIP, and of XLA's status codes.
FULL = (
    "out of memory",
    "OutOfMemory",
    "OUT_OF_MEMORY",
    "RESOURCE_EXHAUSTED",
    "MemoryError",
    "STATUS_ALLOC_FAILED",  # of cuBLAS, cuDNN and their like, where PyTorch and CuPy pass it on
)
DEAD = (
    "device-side assert",
    "illegal memory access",
    "illegal address",
    "ILLEGAL_ADDRESS",
    "illegal instruction",
    "misaligned address",
    "unspecified launch failure",
    "LAUNCH_FAILED",
    "launch timed out",
    "LAUNCH_TIMEOUT",
    "uncorrectable ECC error",
    "ECC_UNCORRECTABLE",
    "hardware stack error",
    "fell off the bus",
    "hipErrorIllegalAddress",
    "hipErrorLaunchFailure",
)


def kind_of(error: BaseException) -> str:
    """Tell by an error's type and words what it is."""
    text = "%s: %s" % (type(error).__name__, error)
    if any(word in text for word in DEAD):
        return "device-error"
    return "out-of-memory" if any(word in text for word in FULL) else "other"
