"""NumPy on the CPU: the reference, and what runs on a machine without a GPU."""

from __future__ import annotations

import os

from ..array_operations import operations
from ..host_math import NumpyHost
from ..memory import available
from ..network import ArrayNetwork
from ..runner import Unsupported
from .base import Base, Transfer, Vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..weights import Weights


class CpuBackend(Base):
    """NumPy."""

    name = "NumPy"
    kind = "cpu"

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.host = NumpyHost()
        self.numpy = self.host.module
        self.version = str(self.numpy.__version__)

    def start(self) -> dict[str, Any]:
        """Nothing to take."""
        return {"kind": "cpu", "name": processor(), "memory_free": self.free(), "threads": threads()}

    def free(self) -> int:
        """What the machine has left."""
        return available()

    def dtypes(self) -> tuple[str, ...]:
        """NumPy's products are fast in float32 and float64 alone."""
        return ("fp32",)

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        """The array itself."""
        return values, values.astype(self.numpy.float64)

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        """The BLAS that NumPy was built with."""
        out = self.numpy.full((len(a), b.shape[1]), self.numpy.nan, a.dtype)
        return lambda: self.numpy.matmul(a, b, out=out)

    def values(self, array: Any) -> Any:
        """In float64."""
        return array.astype(self.numpy.float64)

    def unequal(self, one: Any, other: Any) -> int:
        """Elements that differ."""
        return int((one != other).sum())

    def network(self, weights: Weights, images: Any, labels: bytes) -> Any:
        """The network written out, in float32."""
        return ArrayNetwork(self.numpy, weights, images, labels, self.numpy.float32)

    def operations(self) -> dict[str, Callable[[], Any]]:
        """On NumPy's arrays."""
        return operations(self.numpy, self.host)

    def transfer(self, size: int, pinned: bool) -> Transfer:
        """Copies within the host's memory: there is no link."""
        if pinned:
            raise Unsupported("Pinned memory is only for GPUs, and this is the CPU.")
        return CpuCopies(self.numpy, size)

    def vectors(self, elements: int) -> Vectors:
        """Vectors in the host's memory."""
        return HostVectors(self.numpy, elements)


class CpuCopies(Transfer):
    """Two buffers and a third between them."""

    def __init__(self, numpy: Any, size: int) -> None:
        self.numpy, self.size = numpy, size
        self.source, self.between, self.target = (numpy.zeros(size, numpy.uint8) for _ in range(3))

    def fill(self, seed: int) -> None:
        """Random bytes."""
        self.source[:] = self.numpy.frombuffer(self.numpy.random.default_rng(seed).bytes(self.size), self.numpy.uint8)

    def to_device(self) -> None:
        """Into the buffer between."""
        self.numpy.copyto(self.between, self.source)

    def to_host(self) -> None:
        """Out of it."""
        self.numpy.copyto(self.target, self.between)

    def clear(self) -> None:
        """Zeros."""
        self.between.fill(0)
        self.target.fill(0)

    def differing(self) -> int:
        """Bytes that differ."""
        return int((self.source != self.target).sum())

    def piece(self, offset: int, length: int) -> int:
        """A piece there and back."""
        part = slice(offset, offset + length)
        self.between[part] = self.source[part]
        self.target[part] = self.between[part]
        return int((self.source[part] != self.target[part]).sum())


class HostVectors(Vectors):
    """Vectors of NumPy."""

    def __init__(self, numpy: Any, elements: int) -> None:
        self.numpy = numpy
        self.x = (numpy.arange(elements, dtype=numpy.int64) % 1000).astype(numpy.float32)
        self.y, self.z, self.product = (numpy.zeros(elements, numpy.float32) for _ in range(3))

    triad_bytes = 5  # NumPy makes the product 3 y before it adds

    def copy(self) -> None:
        """y = x."""
        self.numpy.copyto(self.y, self.x)

    def triad(self) -> None:
        """z = x + 3 y."""
        self.numpy.multiply(self.y, self.numpy.float32(3), out=self.product)
        self.numpy.add(self.x, self.product, out=self.z)

    def read(self) -> None:
        """The sum of x."""
        self.x.sum()

    def wrong(self) -> int:
        """Elements that are not what they should be."""
        return int((self.y != self.x).sum() + (self.z != self.x * 4).sum())


def threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str | None:
    """The CPU's name; None where /proc does not say it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    except OSError:
        return None
