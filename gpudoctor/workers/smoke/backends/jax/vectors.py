"""Vectors for the memory's bandwidth, and an elementwise function compiled into one kernel, in JAX."""

from __future__ import annotations

import time

from .. import xla
from ..base import Fused, Vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import JaxBackend


class JaxVectors(Vectors):
    """Each result is a new array. The factors are arguments, so that XLA cannot know that 1 x is x."""

    def __init__(self, backend: JaxBackend, elements: int) -> None:
        jax, jnp = backend.jax, backend.jnp
        self.backend = backend
        self._count = jax.jit(lambda x, y, z: jnp.sum(y != x) + jnp.sum(z != 4 * x))
        self._scale = jax.jit(lambda x, one: x * one)
        self._triad = jax.jit(lambda x, y, three: x + three * y)
        self._sum = jax.jit(jnp.sum)
        self.one, self.three = (backend.put(backend.numpy.float32(value)) for value in (1, 3))
        self.x = self._scale(_counted(backend, elements, 1000), self.one)
        self.y = self.z = backend.put(backend.numpy.zeros(1, backend.numpy.float32))

    def copy(self) -> None:
        """y = 1 x."""
        self.y = self.backend.queued(self._scale(self.x, self.one))

    def triad(self) -> None:
        """z = x + 3 y."""
        self.z = self.backend.queued(self._triad(self.x, self.y, self.three))

    def read(self) -> None:
        """The sum of x."""
        self.backend.queued(self._sum(self.x))

    def wrong(self) -> int:
        """Elements that are not what they should be."""
        return int(self._count(self.x, self.y, self.z))


class JaxFused(Fused):
    """jax.jit next to the same operations called one by one."""

    way = "XLA"

    def __init__(self, backend: JaxBackend, elements: int) -> None:
        self.backend, self.jax = backend, backend.jax
        spread = backend.jax.jit(lambda count: count / 1000 * 8 - 4)
        self.x = spread(_counted(backend, elements, 1001))
        self._compiled: Any = None

    def _function(self, x: Any) -> Any:
        z = x * xla.A + xla.B
        return z * 0.5 * (self.jax.lax.erf(z * 0.5**0.5) + 1.0) + xla.C

    def compile(self) -> None:
        """Ahead of the first call, as jax.jit does at it."""
        begun = time.perf_counter()
        self._compiled = self.jax.jit(self._function).lower(self.x).compile()
        self.fused()
        self.backend.synchronize()
        self.compile_seconds = time.perf_counter() - begun

    def fused(self) -> None:
        """One kernel."""
        self.backend.queued(self._compiled(self.x))

    def eager(self) -> None:
        """A kernel for each operation."""
        self.backend.queued(self._function(self.x))

    def error(self) -> float:
        """Over elements from the whole length."""
        step = max(1, len(self.x) // xla.SAMPLE)
        y = self._compiled(self.x)
        return xla.gelu_error(self.backend.values(self.x[::step]), self.backend.values(y[::step]))


def _counted(backend: JaxBackend, elements: int, modulus: int) -> Any:
    """0 to modulus - 1, again and again, in float32, made on the device."""
    jnp = backend.jnp
    made = backend.jax.jit(lambda start: ((jnp.arange(elements) + start) % modulus).astype(jnp.float32))
    return made(backend.put(backend.numpy.int32(0)))
