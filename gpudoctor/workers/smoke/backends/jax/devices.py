"""Between JAX's devices: copies from one to another, and a sum over all."""

from __future__ import annotations

import time

from ...runner import Unsupported
from ..base import Peer
from ..chip import DeviceInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from . import JaxBackend

IN_FLIGHT = 3  # copies that may wait in the queue: each makes an array
WARM, TIMED = 3, 10  # sums
QUEUED = 4  # of each timed sum, so that the host's clock and the launch do not count
EXACT = 1 << 16  # elements of the sums that are compared with what they must be
TRANSPORTS = {"cuda": "nccl", "rocm": "rccl", "cpu": "xla"}


class JaxPeer(Peer):
    """jax.device_put from one device to another; XLA decides by which way."""

    def __init__(self, backend: JaxBackend, source: int, target: int, size: int) -> None:
        devices = backend.group()
        self.backend, self.target = backend, devices[target]
        self.can_access = DeviceInfo(backend.kind, target).can_access(source)
        jnp = backend.jnp
        # 251 is a prime: a block that lands in another's place does not look right.
        self._pattern = backend.jax.jit(lambda start: ((jnp.arange(size) + start) % 251).astype(jnp.uint8))
        self._count = backend.jax.jit(lambda one, other: jnp.sum(one != other))
        self.values = self._pattern(backend.put(backend.numpy.int32(0), devices[source])).block_until_ready()
        self._waiting: list[Any] = []

    def copy(self) -> None:
        """Queue a copy into a new array."""
        self._waiting.append(self.backend.put(self.values, self.target))
        if len(self._waiting) > IN_FLIGHT:
            self._waiting.pop(0).block_until_ready()

    def wait(self) -> None:
        """Wait for the copies; the last is kept."""
        self.backend.jax.block_until_ready(self._waiting)
        del self._waiting[:-1]

    def differing(self) -> int:
        """Compared on the target with the pattern made there."""
        self.wait()
        right = self._pattern(self.backend.put(self.backend.numpy.int32(0), self.target))
        return int(self._count(self._waiting[-1], right))


def allreduce(backend: JaxBackend, size: int, pause: Callable[[], None]) -> dict[str, Any]:
    """Sums over all devices, a row of an array on each.

    Raises:
        Unsupported: there is one device.
    """
    devices = backend.group()
    if len(devices) < 2:
        raise Unsupported("JAX sees one device, and all-reduce needs two.")
    group = _Group(backend, devices)
    wrong = sum(group.wrong(EXACT, dtype) for dtype in ("float32", "bfloat16"))
    pause()
    return {
        "ranks": len(devices),
        "transport": TRANSPORTS[backend.kind],
        "wrong": wrong,
        "seconds": _timed(backend, group, size // 4, pause),
        "bytes": size // 4 * 4,
    }


class _Group:
    """All devices as one axis of a mesh."""

    def __init__(self, backend: JaxBackend, devices: list[Any]) -> None:
        jax = self.jax = backend.jax
        self.backend, self.ranks = backend, len(devices)
        mesh = jax.sharding.Mesh(backend.numpy.array(devices), ("rank",))
        spec = jax.sharding.PartitionSpec("rank")
        self.rows = jax.sharding.NamedSharding(mesh, spec)
        mapped = _shard_map(jax)
        self.sum = jax.jit(mapped(lambda x: jax.lax.psum(x, "rank"), mesh=mesh, in_specs=spec, out_specs=spec))

    def numbers(self, elements: int, dtype: str) -> Any:
        """Row r holds r + 1, made on the device of rank r."""
        jnp = self.backend.jnp

        def made() -> Any:
            column = jnp.arange(1, self.ranks + 1).astype(dtype)[:, None]
            return jnp.broadcast_to(column, (self.ranks, elements))

        return self.jax.jit(made, out_shardings=self.rows)()

    def wrong(self, elements: int, dtype: str) -> int:
        """Elements that are not n (n + 1) / 2."""
        found = self.sum(self.numbers(elements, dtype))
        return int(self.backend.jnp.sum(found != self.ranks * (self.ranks + 1) // 2))


def _shard_map(jax: Any) -> Any:
    """It was experimental before JAX 0.6."""
    if hasattr(jax, "shard_map"):
        return jax.shard_map
    import importlib

    return importlib.import_module("jax.experimental.shard_map").shard_map


def _timed(backend: JaxBackend, group: _Group, elements: int, pause: Callable[[], None]) -> list[float]:
    values, seconds = group.numbers(elements, "float32"), []
    backend.jax.block_until_ready(values)
    for _ in range(WARM + TIMED):
        pause()
        begun = time.perf_counter()
        for _ in range(QUEUED):
            found = group.sum(values)
        found.block_until_ready()
        seconds.append((time.perf_counter() - begun) / QUEUED)
    return seconds[WARM:]
