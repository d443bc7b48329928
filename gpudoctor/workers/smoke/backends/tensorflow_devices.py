"""Between TensorFlow's GPUs: copies from one to another, and a sum over all by NCCL."""

from __future__ import annotations

import time

from ..runner import Unsupported
from .base import Peer
from .chip import DeviceInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .tensorflow import TensorflowBackend

WARM, TIMED = 3, 10  # sums
QUEUED = 4  # of each timed sum, so that the host's clock and the launch do not count
EXACT_TYPES = ("float32", "float16")  # TensorFlow's operation for NCCL has no bfloat16
EXACT = 1 << 16  # elements of the sums that are compared with what they must be
TRANSPORTS = {"cuda": "nccl", "rocm": "rccl"}
PATTERN = 251  # a prime: a block that lands in another's place does not look right


class TensorPeer(Peer):
    """A tensor's copy on another GPU; TensorFlow decides by which way."""

    def __init__(self, backend: TensorflowBackend, source: int, target: int, size: int) -> None:
        self.backend, self.tf, self.target = backend, backend.tf, target
        self.can_access = DeviceInfo(backend.kind, target).can_access(source)
        numpy = backend.numpy
        pattern = numpy.resize(numpy.arange(PATTERN, dtype=numpy.uint8), size)
        self.values, self.right = self._put(pattern, source), self._put(pattern, target)
        self.found = self.right

    def _put(self, values: Any, index: int) -> Any:
        with self.tf.device("/GPU:%d" % index):
            return self.tf.constant(values)

    def copy(self) -> None:
        """A new tensor on the target."""
        self.found = self.values.gpu(self.target)

    def wait(self) -> None:
        """Wait for all devices."""
        self.backend.synchronize()

    def differing(self) -> int:
        """Compared on the target with a tensor that came there from the host."""
        self.wait()
        with self.tf.device("/GPU:%d" % self.target):
            return int(self.tf.reduce_sum(self.tf.cast(self.found != self.right, self.tf.int64)))


def allreduce(backend: TensorflowBackend, size: int, pause: Callable[[], None]) -> dict[str, Any]:
    """Sums over all GPUs.

    Raises:
        Unsupported: there are fewer than two.
    """
    if backend.kind == "cpu":
        raise Unsupported("TensorFlow's all-reduce uses NCCL, which needs two GPUs, and this is the CPU.")
    count = backend.peers()
    if count < 2:
        raise Unsupported("TensorFlow lists one GPU, and all-reduce needs two.")
    # Without packing: joining the values first would be timed too.
    by = backend.tf.distribute.NcclAllReduce(num_packs=0)
    group = MirroredGroup(backend.tf, ["/GPU:%d" % index for index in range(count)], by)
    wrong = sum(group.wrong(EXACT, dtype) for dtype in EXACT_TYPES)
    pause()
    return {
        "ranks": count,
        "transport": TRANSPORTS[backend.kind],
        "wrong": wrong,
        "seconds": timed(backend, group, size // 4, pause),
        "bytes": size // 4 * 4,
    }


class MirroredGroup:
    """Devices under one tf.distribute.MirroredStrategy."""

    def __init__(self, tf: Any, places: list[str], by: Any) -> None:
        self.tf, self.places = tf, places
        self.strategy = tf.distribute.MirroredStrategy(devices=places, cross_device_ops=by)
        self.sum = tf.function(lambda values: self.strategy.run(self._summed, args=(values,)))

    def _summed(self, value: Any) -> Any:
        context = self.tf.distribute.get_replica_context()
        return context.all_reduce(self.tf.distribute.ReduceOp.SUM, value)

    def numbers(self, elements: int, dtype: str) -> Any:
        """Rank r brings r + 1, made on its device."""

        def made(context: Any) -> Any:
            rank = context.replica_id_in_sync_group
            with self.tf.device(self.places[rank]):
                return self.tf.fill([elements], self.tf.constant(rank + 1, dtype))

        return self.strategy.experimental_distribute_values_from_function(made)

    def wrong(self, elements: int, dtype: str) -> int:
        """Elements that are not n (n + 1) / 2, on any device."""
        ranks = len(self.places)
        found = self.strategy.experimental_local_results(self.sum(self.numbers(elements, dtype)))
        true = ranks * (ranks + 1) // 2
        missing = (ranks - len(found)) * elements
        return missing + sum(int((part.numpy().astype("float64") != true).sum()) for part in found)


def timed(backend: TensorflowBackend, group: MirroredGroup, elements: int, pause: Callable[[], None]) -> list[float]:
    """Seconds of a sum, ten times after three that do not count."""
    values, seconds = group.numbers(elements, "float32"), []
    backend.synchronize()
    for _ in range(WARM + TIMED):
        pause()
        begun = time.perf_counter()
        for _ in range(QUEUED):
            group.sum(values)
        backend.synchronize()
        seconds.append((time.perf_counter() - begun) / QUEUED)
    return seconds[WARM:]
