"""A training step over all devices by sharding: the batch's rows are split, the parameters are on each of them."""

from __future__ import annotations

import time

from .. import xla

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...weights import Batch
    from . import JaxBackend

WARM, TIMED = 3, 10  # steps
QUEUED = 4  # of each timed one, so that the host's clock and the launch do not count


def data_parallel(
    backend: JaxBackend, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
) -> dict[str, Any]:
    """One step; as gpudoctor/workers/smoke/backends/base.py has it."""
    group = ShardedReplicas(backend, backend.group()[:count], batch)
    average = group.slopes(group.parameters, group.images, group.labels)
    pause()
    after = group.step(group.parameters, average, backend.numpy.float32(rate))
    found = {
        "transport": group.transport,
        "gradients": group.copies(average),
        "weights": group.copies(after),
        "seconds": [],
    }
    return dict(found, seconds=group.timed(timed, rate, pause)) if timed else found


class ShardedReplicas:
    """Devices as a mesh of one axis, over which the batch is split."""

    def __init__(self, backend: JaxBackend, devices: list[Any], batch: Batch) -> None:
        jax = self.jax = backend.jax
        self.backend, self.devices, self.numpy = backend, devices, backend.numpy
        mesh = jax.sharding.Mesh(self.numpy.array(devices), ("batch",))
        self.everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        self.rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
        first = zip(batch.first.buffers, batch.first.shapes)
        self.parameters = [
            jax.device_put(self.numpy.frombuffer(data, self.numpy.float32).reshape(shape), self.everywhere)
            for data, shape in first
        ]
        normal, numbers = xla.batch(self.numpy, batch.images, batch.labels)
        self._batch = normal[:, None], numbers
        self.images, self.labels = (jax.device_put(values, self.rows) for values in self._batch)
        programs, one = backend.programs(), self.numpy.float32(1)
        # XLA inserts the all-reduce, because the gradients shall be everywhere and the images are not.
        self.slopes = jax.jit(lambda p, x, y: programs.slopes(p, x, y, "fp32", one)[1], out_shardings=self.everywhere)
        self.step = jax.jit(lambda p, g, rate: programs.step(p, g, rate), out_shardings=self.everywhere)
        self._train = jax.jit(lambda p, x, y, rate: programs.train(p, x, y, rate), out_shardings=self.everywhere)

    @property
    def transport(self) -> str:
        """Over what XLA sums."""
        return {"cuda": "nccl", "rocm": "rccl"}.get(self.backend.kind, "xla")

    def copies(self, arrays: list[Any]) -> list[list[Any]]:
        """Of each device its own copy of arrays that are on all."""
        found: list[list[Any]] = [[] for _ in self.devices]
        for array in arrays:
            here = {shard.device: shard.data for shard in array.addressable_shards}
            for copy, device in zip(found, self.devices):
                copy.append(self.backend.values(here[device]))
        return found

    def timed(self, count: int, rate: float, pause: Callable[[], None]) -> list[float]:
        """Seconds of a step on so many images of each device."""
        picked = xla.rows(self.numpy, count * len(self.devices), 0, len(self._batch[1]))
        images, labels = (self.jax.device_put(values[picked], self.rows) for values in self._batch)
        parameters, by, seconds = self.parameters, self.numpy.float32(rate), []
        for _ in range(WARM + TIMED):
            pause()
            begun = time.perf_counter()
            for _ in range(QUEUED):
                parameters = self._train(parameters, images, labels, by)
            self.jax.block_until_ready(parameters)
            seconds.append((time.perf_counter() - begun) / QUEUED)
        return seconds[WARM:]
