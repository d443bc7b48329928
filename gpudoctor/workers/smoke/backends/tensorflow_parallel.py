"""A training step over several devices by tf.distribute.MirroredStrategy: a replica on each, gradients averaged."""

from __future__ import annotations

import time

from . import xla
from .tensorflow_devices import TRANSPORTS
from .tensorflow_network import layers, turned, unturned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..weights import Batch
    from .tensorflow import TensorflowBackend

CPU_REPLICAS = 2
WARM, TIMED = 3, 10  # steps
QUEUED = 4  # of each timed one, so that the host's clock and the launch do not count


def split_cpu(tf: Any) -> None:
    """Let the CPU pass for several devices, which TensorFlow permits until it has used one."""
    parts = [tf.config.LogicalDeviceConfiguration() for _ in range(CPU_REPLICAS)]
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)


def data_parallel(
    backend: TensorflowBackend, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
) -> dict[str, Any]:
    """One step; as gpudoctor/workers/smoke/backends/base.py has it."""
    group = MirroredReplicas(backend, batch, count, rate)
    average = group.slopes(group.images, group.labels)
    pause()
    gradients = group.copies(average)
    group.step(average)
    found = {
        "transport": TRANSPORTS.get(backend.kind, "host memory"),
        "gradients": gradients,
        "weights": group.copies(group.model.trainable_variables),
        "seconds": [],
    }
    return dict(found, seconds=group.timed(timed, pause)) if timed else found


class MirroredReplicas:
    """The model under the strategy, and of each replica its part of the batch."""

    def __init__(self, backend: TensorflowBackend, batch: Batch, count: int, rate: float) -> None:
        tf, numpy = backend.tf, backend.numpy
        self.backend, self.tf, self.numpy, self.shapes = backend, tf, numpy, batch.first.shapes
        on_cpu = backend.kind == "cpu"
        self.places = ["/%s:%d" % ("CPU" if on_cpu else "GPU", index) for index in range(count)]
        by = tf.distribute.ReductionToOneDevice() if on_cpu else tf.distribute.NcclAllReduce()
        self.strategy = tf.distribute.MirroredStrategy(devices=self.places, cross_device_ops=by)
        pairs = zip(batch.first.buffers, batch.first.shapes)
        with self.strategy.scope():
            self.model = layers(tf.keras, self.shapes, "float32")
            self.model.set_weights(turned([numpy.frombuffer(data, numpy.float32).reshape(s) for data, s in pairs]))
        self._parts = []
        for number in range(count):
            part = batch.part(number, count)
            normal, numbers = xla.batch(numpy, part.images, part.labels)
            self._parts.append((normal[..., None], numbers.astype(numpy.int64)))
        self.images, self.labels = (self._placed([part[at] for part in self._parts]) for at in range(2))
        self.slopes = tf.function(lambda images, labels: self.strategy.run(self._slopes, args=(images, labels)))
        self.step = tf.function(lambda average: self._moved(average, rate))
        self._train = tf.function(lambda images, labels: self._trained(images, labels, rate))

    def _placed(self, values: list[Any]) -> Any:
        """An array of each replica on its device."""

        def made(context: Any) -> Any:
            rank = context.replica_id_in_sync_group
            with self.tf.device(self.places[rank]):
                return self.tf.constant(values[rank])

        return self.strategy.experimental_distribute_values_from_function(made)

    def _slopes(self, images: Any, labels: Any) -> list[Any]:
        """In a replica: the gradients of its part, averaged with the others'."""
        tf, variables = self.tf, self.model.trainable_variables
        with tf.GradientTape() as tape:
            logits = self.model(images, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        context = tf.distribute.get_replica_context()
        found: list[Any] = context.all_reduce(tf.distribute.ReduceOp.MEAN, tape.gradient(loss, variables))
        return found

    def _moved(self, average: Any, rate: float) -> None:
        """Each replica's weights by the gradients that it received."""

        def taken(weight: Any, received: Any) -> Any:
            return weight.assign_sub(rate * received)

        for variable, slope in zip(self.model.trainable_variables, average):
            self.strategy.extended.update(_inner(variable), taken, args=(slope,), group=False)

    def _trained(self, images: Any, labels: Any, rate: float) -> None:
        self._moved(self.strategy.run(self._slopes, args=(images, labels)), rate)

    def copies(self, values: Any) -> list[list[Any]]:
        """Of each replica its own copy of gradients or weights."""
        columns = [self.strategy.experimental_local_results(_inner(value)) for value in values]
        return [
            [array.astype(self.numpy.float64) for array in unturned([c[rank].numpy() for c in columns], self.shapes)]
            for rank in range(len(self.places))
        ]

    def timed(self, count: int, pause: Callable[[], None]) -> list[float]:
        """Seconds of a step on so many images of each replica."""
        picked = xla.rows(self.numpy, count, 0, len(self._parts[0][1]))
        images, labels = (self._placed([part[at][picked] for part in self._parts]) for at in range(2))
        self.backend.synchronize()
        seconds = []
        for _ in range(WARM + TIMED):
            pause()
            begun = time.perf_counter()
            for _ in range(QUEUED):
                self._train(images, labels)
            self.backend.synchronize()
            seconds.append((time.perf_counter() - begun) / QUEUED)
        return seconds[WARM:]


def _inner(value: Any) -> Any:
    """TensorFlow's variable, which Keras 3 wraps; of Keras 2 the variable itself, and a gradient as it is."""
    inner = getattr(value, "value", value)
    return value if callable(inner) else inner
