"""TensorFlow's copies between host and device, vectors for the memory's bandwidth, and a function compiled by XLA."""

from __future__ import annotations

import time

from . import xla
from .base import Fused, Transfer, Vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .tensorflow import TensorflowBackend


class TensorTransfer(Transfer):
    """A tensor in the host's pageable memory, and its copies.

    `Tensor.gpu` and `Tensor.cpu` copy each time; tf.identity keeps the first copy and gives it again.
    """

    def __init__(self, backend: TensorflowBackend, size: int) -> None:
        self.backend, self.size, self.numpy = backend, size, backend.numpy
        self.source: Any = self._on_host(self.numpy.zeros(size, self.numpy.uint8))
        self.between = self.target = self.source

    def fill(self, seed: int) -> None:
        """Random bytes."""
        drawn = self.numpy.random.default_rng(seed).bytes(self.size)
        self.source = self._on_host(self.numpy.frombuffer(drawn, self.numpy.uint8))

    def to_device(self) -> None:
        """A new tensor on the device."""
        self.between = self._there(self.source)

    def to_host(self) -> None:
        """A new tensor on the host."""
        self.target = self._back(self.between)

    def clear(self) -> None:
        """Zeros."""
        self.target = self._on_host(self.numpy.zeros(self.size, self.numpy.uint8))
        self.between = self._there(self.target)

    def differing(self) -> int:
        """Counted by NumPy."""
        return self._wrong(self.source, self.target)

    def piece(self, offset: int, length: int) -> int:
        """A part of the source; where it lies on the device, TensorFlow decides."""
        part = self._on_host(self._seen(self.source)[offset : offset + length])
        return self._wrong(part, self._back(self._there(part)))

    def _on_host(self, values: Any) -> Any:
        with self.backend.tf.device("/CPU:0"):
            return self.backend.tf.constant(values)

    def _there(self, tensor: Any) -> Any:
        return self._copied(tensor) if self.backend.kind == "cpu" else tensor.gpu(self.backend.index)

    def _back(self, tensor: Any) -> Any:
        return self._copied(tensor) if self.backend.kind == "cpu" else tensor.cpu()

    def _copied(self, tensor: Any) -> Any:
        """On the CPU all other ways share the memory."""
        return self.backend.tf.raw_ops.DeepCopy(x=tensor)

    def _seen(self, tensor: Any) -> Any:
        return self.numpy.asarray(memoryview(tensor))

    def _wrong(self, one: Any, other: Any) -> int:
        return int((self._seen(one) != self._seen(other)).sum())


class TensorVectors(Vectors):
    """Each result is a new tensor. The factors are arguments, so that no optimiser can know that 1 x is x."""

    triad_bytes = 5  # TensorFlow makes the product 3 y before it adds

    def __init__(self, backend: TensorflowBackend, elements: int) -> None:
        self.backend, self.tf = backend, backend.tf
        self._scale = backend.compiled(lambda x, one: x * one)
        self._triad = backend.compiled(lambda x, y, three: x + three * y)
        self._sum = backend.compiled(self.tf.reduce_sum)
        self._count = backend.compiled(self._wrong)
        self.one, self.three = (backend.put(backend.numpy.float32(value)) for value in (1, 3))
        self.x = backend.put(_counted(backend, elements, 1000))
        self.y = self.z = self.one

    def copy(self) -> None:
        """y = 1 x."""
        self.y = self._scale(self.x, self.one)

    def triad(self) -> None:
        """z = x + 3 y."""
        self.z = self._triad(self.x, self.y, self.three)

    def read(self) -> None:
        """The sum of x."""
        self._sum(self.x)

    def wrong(self) -> int:
        """Elements that are not what they should be."""
        return int(self._count(self.x, self.y, self.z))

    def _wrong(self, x: Any, y: Any, z: Any) -> Any:
        tf = self.tf
        both = tf.cast(y != x, tf.int64) + tf.cast(z != 4.0 * x, tf.int64)
        return tf.reduce_sum(both)


class TensorFused(Fused):
    """tf.function(jit_compile=True) next to the same operations called one by one."""

    way = "XLA"

    def __init__(self, backend: TensorflowBackend, elements: int) -> None:
        self.backend, self.tf = backend, backend.tf
        self.x = backend.put(_counted(backend, elements, 1001) / backend.numpy.float32(125) - backend.numpy.float32(4))
        self._compiled: Any = None

    def _function(self, x: Any) -> Any:
        z = x * xla.A + xla.B
        return z * 0.5 * (self.tf.math.erf(z * 0.5**0.5) + 1.0) + xla.C

    def compile(self) -> None:
        """At the first call."""
        begun = time.perf_counter()
        self._compiled = self.tf.function(self._function, jit_compile=True)
        self.fused()
        self.backend.synchronize()
        self.compile_seconds = time.perf_counter() - begun

    def fused(self) -> None:
        """One kernel."""
        self._called()

    def _called(self) -> Any:
        with self.tf.device(self.backend.place):
            return self._compiled(self.x)

    def eager(self) -> None:
        """A kernel for each operation."""
        with self.tf.device(self.backend.place):
            self._function(self.x)

    def error(self) -> float:
        """Over elements from the whole length."""
        step = max(1, int(self.x.shape[0]) // xla.SAMPLE)
        y = self._called()
        return xla.gelu_error(self.backend.values(self.x[::step]), self.backend.values(y[::step]))


def _counted(backend: TensorflowBackend, elements: int, modulus: int) -> Any:
    """0 to modulus - 1, again and again, in float32."""
    once = backend.numpy.arange(modulus, dtype=backend.numpy.float32)
    return backend.numpy.resize(once, elements)
