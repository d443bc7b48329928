"""Kernels that CuPy compiles: the triad for the memory's bandwidth, and `gelu(a x + b) + c` in one piece."""

from __future__ import annotations

import importlib
import time

from .base import Fused, Vectors
from .xla import SAMPLE, A, B, C, gelu_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .cupy import CupyBackend

TRIAD = ("float32 x, float32 y", "float32 z", "z = x + 3 * y", "gpudoctor_triad")
DRAWN = 1 << 20
INNER = "(%rf * x + %rf)" % (A, B)
GELU = (
    "float32 x",
    "float32 y",
    "y = 0.5f * %s * (1.0f + erf(%s * 0.70710678f)) + %rf" % (INNER, INNER, C),
    "gpudoctor_gelu",
)


class CupyVectors(Vectors):
    """Arrays of CuPy."""

    def __init__(self, backend: CupyBackend, elements: int) -> None:
        cupy, numpy = backend.cupy, backend.numpy
        self.cupy = cupy
        self.x = (cupy.arange(elements, dtype=numpy.int32) % 1000).astype(numpy.float32)
        self.y, self.z = (cupy.zeros(elements, numpy.float32) for _ in range(2))
        self._triad = cupy.ElementwiseKernel(*TRIAD)

    def copy(self) -> None:
        """y = x."""
        self.cupy.copyto(self.y, self.x)

    def triad(self) -> None:
        """z = x + 3 y."""
        self._triad(self.x, self.y, self.z)

    def read(self) -> None:
        """The sum of x."""
        self.x.sum()

    def wrong(self) -> int:
        """Elements of both that are not what they should be."""
        cupy = self.cupy
        return int(cupy.count_nonzero(self.y != self.x)) + int(cupy.count_nonzero(self.z != self.x * 4))


def ways(backend: CupyBackend, elements: int) -> list[Fused]:
    """Both, over the same numbers: of the normal distribution, a million and then the same again."""
    cupy = backend.cupy
    drawn = cupy.asarray(backend.host.normal(1, min(elements, DRAWN), 7)[0])
    x = cupy.tile(drawn, -(-elements // len(drawn)))[:elements]
    return [CupyHandwritten(backend, x), Traced(backend, x)]


class CupyHandwritten(Fused):
    """The operation as a line of C++."""

    way = "ElementwiseKernel"

    def __init__(self, backend: CupyBackend, x: Any) -> None:
        self.backend, self.cupy, self.x = backend, backend.cupy, x
        self.y = backend.cupy.full(x.shape, float("nan"), x.dtype)
        special: Any = importlib.import_module("cupyx.scipy.special")
        self._erf = special.erf
        self._kernel: Any = None

    def compile(self) -> None:
        """NVRTC at the first call; its result lies in the home, which is a temporary folder."""
        begun = time.perf_counter()
        self._kernel = self._made()
        self.fused()
        self.backend.synchronize()
        self.compile_seconds = time.perf_counter() - begun

    def _made(self) -> Any:
        return self.cupy.ElementwiseKernel(*GELU)

    def fused(self) -> None:
        """Into an array of its own."""
        self._kernel(self.x, self.y)

    def eager(self) -> None:
        """A kernel for each operation."""
        self.formula(self.x)

    def formula(self, x: Any) -> Any:
        """The operations one by one."""
        z = x * A + B
        return z * 0.5 * (self._erf(z * 0.5**0.5) + 1.0) + C

    def error(self) -> float:
        """At places an odd number apart, so that every lane of a warp is seen."""
        step = max(1, len(self.x) // SAMPLE) | 1
        return gelu_error(*(self.cupy.asnumpy(array[::step]) for array in (self.x, self.y)))


class Traced(CupyHandwritten):
    """The operations as `cupy.fuse` puts them together."""

    way = "fuse"

    def _made(self) -> Any:
        return self.cupy.fuse(kernel_name="gpudoctor_fused")(self.formula)

    def fused(self) -> None:
        """Into memory of the allocator."""
        self.y = self._kernel(self.x)
