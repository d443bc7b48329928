"""The data types of CuPy's products, and their bits: which there are, what NaN is, which elements differ."""

from __future__ import annotations

import importlib

from .xla import lacks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .cupy import CupyBackend

# By the bytes of an element and whether it is bfloat16: the bits of a NaN, and those of infinity.
NAN = {(4, False): 0x7FC00000, (2, False): 0x7E00, (2, True): 0x7FC0}
INFINITY = {(4, False): 0x7F800000, (2, False): 0x7C00, (2, True): 0x7F80}


def lacking(backend: CupyBackend, dtype: str) -> str:
    """Why there are no products in a data type, as a sentence; empty where there are."""
    if dtype == "fp8":
        return "CuPy has no fp8 matmul."
    if dtype == "bf16" and bfloat16(backend) is None:
        return _no_bfloat16(backend)
    return lacks(backend, backend.capability, dtype)


def bfloat16(backend: CupyBackend) -> Any:
    """NumPy's type bfloat16, which ml_dtypes defines; None where that is missing, or where this CuPy ignores it."""
    try:
        found = backend.numpy.dtype(importlib.import_module("ml_dtypes").bfloat16)
        importlib.import_module("cupy._core._routines_linalg").to_compute_type_index(found)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return found


def _no_bfloat16(backend: CupyBackend) -> str:
    try:
        importlib.import_module("ml_dtypes")
    except ImportError:
        return "CuPy needs the package ml_dtypes for bf16, which is not installed."
    return "CuPy %s has no bf16." % backend.version


def of(backend: CupyBackend, dtype: str) -> Any:
    """NumPy's type for a data type."""
    if dtype == "bf16":
        return bfloat16(backend)
    return backend.numpy.dtype(backend.numpy.float16 if dtype == "fp16" else backend.numpy.float32)


def bits(backend: CupyBackend, dtype: Any) -> Any:
    """The unsigned type that is as wide."""
    return backend.numpy.dtype("uint%d" % (8 * dtype.itemsize))


def nans(backend: CupyBackend, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array full of NaN."""
    made = backend.cupy.empty(shape, dtype)
    made.view(bits(backend, dtype)).fill(NAN[_key(dtype)])
    return made


def unequal(backend: CupyBackend, one: Any, other: Any) -> int:
    """How many elements differ; NaN differs from all.

    Floats that CuPy knows are compared as such. bfloat16 is compared by its bits, and NaNs are those beyond infinity.
    """
    cupy, key = backend.cupy, _key(one.dtype)
    if not key[1]:
        return int(cupy.count_nonzero(one != other))
    kind = bits(backend, one.dtype)
    one, other = one.view(kind), other.view(kind)
    magnitude = one & kind.type(0x7FFF)
    return int(cupy.count_nonzero((one != other) | (magnitude > kind.type(INFINITY[key]))))


def _key(dtype: Any) -> tuple[int, bool]:
    return (int(dtype.itemsize), dtype.name == "bfloat16")
