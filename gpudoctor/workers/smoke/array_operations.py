"""Usual operations on arrays, for two modules of one interface: NumPy and CuPy."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .host_math import NumpyHost

SIZE = 1000  # rows and columns: a million numbers, 4 MB


def operations(xp: Any, host: NumpyHost) -> dict[str, Callable[[], Any]]:
    """By name what does, or on a GPU queues, each operation on float32 arrays of SIZE x SIZE.

    Args:
        xp: numpy or cupy.
        host: what draws the numbers, the same for both.
    """
    a, b = (xp.asarray(host.normal(SIZE, SIZE, seed)) for seed in (11, 12))
    return {
        "matmul": lambda: xp.matmul(a, b),
        "add": lambda: a + b,
        "elementwise": lambda: xp.exp(xp.sin(a) * b),
        "sum": lambda: a.sum(axis=0),
        "sort": lambda: xp.sort(a, axis=1),
    }
