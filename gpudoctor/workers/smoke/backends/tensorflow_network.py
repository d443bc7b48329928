"""The network of digits in Keras 2 or 3, with tf.GradientTape and plain gradient descent.

Keras on a CPU knows images only with the channels last, so the weights are turned on their way in, and the gradients on
their way out: both have the shapes and the order of the weights that every framework starts from.
"""

from __future__ import annotations

from . import xla
from .base import Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..weights import Weights
    from .tensorflow import TensorflowBackend

POLICIES = {"fp32": "float32", "bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
CPU = "/CPU:0"


class KerasNetwork(Network):
    """A model for each precision, all with the weights of the one in float32."""

    def __init__(self, backend: TensorflowBackend, weights: Weights, images: Any, labels: bytes) -> None:
        self.backend, self.tf, self.numpy = backend, backend.tf, backend.numpy
        self.names, self.shapes = weights.names, weights.shapes
        normal, numbers = xla.batch(self.numpy, images, labels)
        # Of int32 TensorFlow keeps some operations on the CPU, of int64 none.
        self._batch = normal[..., None], numbers.astype(self.numpy.int64)
        self.images, self.labels = (backend.put(values) for values in self._batch)
        pairs = zip(weights.buffers, weights.shapes)
        first = [self.numpy.frombuffer(data, self.numpy.float32).reshape(shape) for data, shape in pairs]
        self.model = self._made("fp32", backend.place)
        self.model.set_weights(turned(first))
        self._models = {"fp32": self.model}
        self._last: list[Any] = []
        self._steps: dict[str, Any] = {}  # compiled, by precision
        self._passes: dict[str, Any] = {}
        self._loss = backend.compiled(lambda: self._loss_of(self.model, self.images, self.labels))
        self._move = backend.compiled(self._moved)
        self._train = backend.compiled(self._trained)

    # -- what is compiled ----------------------------------------------------------------------------------

    def _made(self, precision: str, place: str) -> Any:
        with self.tf.device(place):
            return layers(self.tf.keras, self.shapes, POLICIES[precision], self._batch[0].shape[1:])

    def _current(self, precision: str) -> Any:
        """The model of a precision with the present weights."""
        self.backend.require(precision)
        if precision not in self._models:
            self._models[precision] = self._made(precision, self.backend.place)
        model = self._models[precision]
        if model is not self.model:
            model.set_weights(self.model.get_weights())
        return model

    def _loss_of(self, model: Any, images: Any, labels: Any) -> Any:
        """The cross-entropy in float32, averaged."""
        logits = self.tf.cast(model(images, training=True), self.tf.float32)
        losses = self.tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return self.tf.reduce_mean(losses)

    def _slopes(self, model: Any, images: Any, labels: Any, scale: Any) -> tuple[Any, list[Any]]:
        with self.tf.GradientTape() as tape:
            loss = self._loss_of(model, images, labels)
            scaled = loss * scale
        return loss, [slope / scale for slope in tape.gradient(scaled, model.trainable_variables)]

    def _moved(self, slopes: Sequence[Any], rate: Any) -> None:
        for variable, slope in zip(self.model.trainable_variables, slopes):
            variable.assign_sub(rate * slope)

    def _trained(self, images: Any, labels: Any, rate: Any) -> None:
        _, slopes = self._slopes(self.model, images, labels, self.tf.constant(1.0))
        self._moved(slopes, rate)

    # -- as base.py has it ---------------------------------------------------------------------------------

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        """In bf16 and fp16 by Keras's policy of mixed precision: the layers compute so, the weights stay float32."""
        model = self._current(precision)
        if precision not in self._steps:
            self._steps[precision] = self.backend.compiled(lambda x, y, s: self._slopes(model, x, y, s))
        factor = self.tf.constant(scale, self.tf.float32)
        loss, self._last = self._steps[precision](self.images, self.labels, factor)
        return float(loss), self._unturned([slope.numpy() for slope in self._last])

    def update(self, rate: float) -> None:
        """Take the step."""
        self._move(self._last, self.tf.constant(rate, self.tf.float32))

    def weights(self) -> list[Any]:
        """Turned back."""
        return self._unturned(self.model.get_weights())

    def loss(self) -> float:
        """In float32."""
        return float(self._loss())

    def train(self, batch: int, rate: float, step: int) -> Callable[[], None]:
        """One tf.function a step."""
        picked = xla.rows(self.numpy, batch, step, len(self._batch[1]))
        images, labels = (self.backend.put(values[picked]) for values in self._batch)
        by = self.tf.constant(rate, self.tf.float32)
        return lambda: self._train(images, labels, by)

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        """One tf.function a pass."""
        model = self._current(precision)
        if precision not in self._passes:
            self._passes[precision] = self.backend.compiled(lambda x: model(x, training=False))
        images, call = self.images[:batch], self._passes[precision]
        return lambda: call(images)

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        """The same layers on the CPU."""
        model = self._made("fp32", CPU)
        model.set_weights(self.model.get_weights())
        with self.tf.device(CPU):
            images = self.tf.constant(self._batch[0][:batch])
        call = self.backend.compiled(lambda x: model(x, training=False), CPU)
        return lambda: call(images).numpy()

    def _unturned(self, arrays: list[Any]) -> list[Any]:
        return [array.astype(self.numpy.float64) for array in unturned(arrays, self.shapes)]


def layers(keras: Any, shapes: Sequence[tuple[int, ...]], policy: str, sample: tuple[int, ...] = (28, 28, 1)) -> Any:
    """The layers, each told its policy and its order of channels: defaults from the user's settings do not count."""
    made, last = keras.layers, shapes[-2]
    like = {"dtype": policy, "kernel_initializer": "zeros"}
    order = {"dtype": policy, "data_format": "channels_last"}
    stack = [made.Input(sample)]
    flat = False
    for shape in shapes[::2]:
        if len(shape) == 4:
            stack.append(made.Conv2D(shape[0], shape[2], activation="relu", data_format="channels_last", **like))
            stack.append(made.MaxPooling2D(2, **order))
            continue
        if not flat:
            stack.append(made.Flatten(**order))
            flat = True
        stack.append(made.Dense(shape[0], activation=None if shape is last else "relu", **like))
    return keras.Sequential(stack)


def turned(arrays: Sequence[Any]) -> list[Any]:
    """Weights as Keras has them: rows, columns, in, out; behind a convolution in the order of its flattening."""
    found = []
    for at, array in enumerate(arrays):
        shape = array.shape
        if array.ndim == 1:
            found.append(array)
        else:
            split = array.reshape(_split([a.shape for a in arrays], at))
            found.append(split.transpose(2, 3, 1, 0).reshape((*shape[2:], shape[1], shape[0])))
    return found


def unturned(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """The way back from Keras's arrays to these shapes."""
    found = []
    for at, (array, shape) in enumerate(zip(arrays, shapes)):
        if len(shape) == 1:
            found.append(array)
        else:
            out, into, rows, columns = _split(shapes, at)
            found.append(array.reshape(rows, columns, into, out).transpose(3, 2, 0, 1).reshape(shape))
    return found


def _split(shapes: Sequence[tuple[int, ...]], at: int) -> tuple[int, int, int, int]:
    """A weight's shape as out, in, rows, columns; that of the layer behind a convolution sees its square images."""
    shape = shapes[at]
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    if at < 2 or len(shapes[at - 2]) != 4:
        return shape[0], shape[1], 1, 1
    channels = shapes[at - 2][0]
    side = round((shape[1] // channels) ** 0.5)
    return shape[0], channels, side, side
