"""The network of digits in JAX, by convolutions of jax.lax in the order of the weights: channels before rows."""

from __future__ import annotations

from ...runner import Unsupported
from .. import xla
from ..base import Network

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...weights import Weights
    from . import JaxBackend

TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class Programs:
    """What is compiled: once for all networks of a backend, for each precision when it is first asked for.

    Attributes:
        forward: the logits of parameters and images in a precision.
        loss: of parameters, images and labels in a precision.
        slopes: loss and gradients, with a precision and the loss's scale.
        step: the parameters less a rate times their gradients.
        train: a whole step in float32.
    """

    def __init__(self, backend: JaxBackend) -> None:
        self.backend, self.jax, self.jnp, self.numpy = backend, backend.jax, backend.jnp, backend.numpy
        compiled = self.jax.jit
        self.forward = compiled(self._logits, static_argnums=2)
        self.loss = compiled(self._loss_of, static_argnums=3)
        self.slopes = compiled(self._slopes_of, static_argnums=3)
        self.step = compiled(self._stepped)
        self.train = compiled(self._trained)

    def _logits(self, parameters: list[Any], images: Any, precision: str) -> Any:
        """All of it in one data type; the casts' own gradients make those of the weights float32."""
        dtype = getattr(self.jnp, TYPES[precision])
        w, x = [p.astype(dtype) for p in parameters], images.astype(dtype)
        while len(w) > 4:  # the last two layers are dense
            x = self._convolved(x, w.pop(0), w.pop(0), precision)
        x = self.jax.nn.relu(self._linear(x.reshape(len(x), -1), w[0], w[1], precision))
        return self._linear(x, w[2], w[3], precision)

    def _convolved(self, x: Any, weight: Any, bias: Any, precision: str) -> Any:
        """Convolution, ReLU, and the maximum over 2 x 2."""
        lax, window = self.jax.lax, (1, 1, 2, 2)
        order, strict = ("NCHW", "OIHW", "NCHW"), self.backend.strictness(precision)
        y = lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=order, precision=strict)
        y = self.jax.nn.relu(y + bias[None, :, None, None])
        least = self.numpy.array(-self.numpy.inf, y.dtype)
        return lax.reduce_window(y, least, lax.max, window, window, "VALID")

    def _linear(self, x: Any, weight: Any, bias: Any, precision: str) -> Any:
        strict = self.backend.strictness(precision)
        return self.jax.lax.dot_general(x, weight, (((1,), (1,)), ((), ())), precision=strict) + bias

    def _loss_of(self, parameters: list[Any], images: Any, labels: Any, precision: str) -> Any:
        """The cross-entropy in float32, averaged."""
        logits = self._logits(parameters, images, precision).astype(self.jnp.float32)
        logs = self.jax.nn.log_softmax(logits)
        return -self.jnp.sum(self.jax.nn.one_hot(labels, logs.shape[1]) * logs) / len(logs)

    def _slopes_of(self, parameters: list[Any], images: Any, labels: Any, precision: str, scale: Any) -> Any:
        def scaled(weights: list[Any]) -> Any:
            loss = self._loss_of(weights, images, labels, precision)
            return loss * scale, loss

        (_, loss), slopes = self.jax.value_and_grad(scaled, has_aux=True)(parameters)
        return loss, [slope / scale for slope in slopes]

    def _stepped(self, parameters: list[Any], slopes: list[Any], rate: Any) -> list[Any]:
        return [parameter - rate * slope for parameter, slope in zip(parameters, slopes)]

    def _trained(self, parameters: list[Any], images: Any, labels: Any, rate: Any) -> list[Any]:
        _, slopes = self._slopes_of(parameters, images, labels, "fp32", self.jnp.float32(1))
        return self._stepped(parameters, slopes, rate)


class JaxNetwork(Network):
    """Parameters and batch on the device."""

    def __init__(self, backend: JaxBackend, weights: Weights, images: Any, labels: bytes) -> None:
        self.backend, self.names, self.numpy = backend, weights.names, backend.numpy
        self.programs = backend.programs()
        self.parameters = [
            backend.put(self.numpy.frombuffer(data, self.numpy.float32).reshape(shape))
            for data, shape in zip(weights.buffers, weights.shapes)
        ]
        normal, numbers = xla.batch(self.numpy, images, labels)
        self._batch = normal[:, None], numbers
        self.images, self.labels = (backend.put(values) for values in self._batch)
        self._last: list[Any] = []

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        """In bf16 and fp16 the whole network computes in that type."""
        self.backend.require(precision)
        factor = self.numpy.float32(scale)
        loss, self._last = self.programs.slopes(self.parameters, self.images, self.labels, precision, factor)
        return float(loss), [self.backend.values(slope) for slope in self._last]

    def update(self, rate: float) -> None:
        """Take the step."""
        self.parameters = self.programs.step(self.parameters, self._last, self.numpy.float32(rate))
        self.backend.queued(self.parameters)

    def weights(self) -> list[Any]:
        """Copied back."""
        return [self.backend.values(parameter) for parameter in self.parameters]

    def loss(self) -> float:
        """In float32."""
        return float(self.programs.loss(self.parameters, self.images, self.labels, "fp32"))

    def train(self, batch: int, rate: float, step: int) -> Callable[[], None]:
        """One compiled function a step."""
        picked, by = xla.rows(self.numpy, batch, step, len(self.labels)), self.numpy.float32(rate)
        images, labels = (self.backend.put(values[picked]) for values in self._batch)

        def call() -> None:
            self.parameters = self.backend.queued(self.programs.train(self.parameters, images, labels, by))

        return call

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        """One compiled function a pass."""
        self.backend.require(precision)
        images, parameters = self.images[:batch], self.parameters
        return lambda: self.backend.queued(self.programs.forward(parameters, images, precision))

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        """The same function, compiled for the CPU.

        Raises:
            Unsupported: JAX_PLATFORMS leaves the CPU out.
        """
        try:
            cpu = self.backend.jax.local_devices(backend="cpu")[0]
        except RuntimeError as error:
            raise Unsupported(str(error)) from error
        parameters = [self.backend.put(self.numpy.asarray(p), cpu) for p in self.parameters]
        images = self.backend.put(self._batch[0][:batch], cpu)
        return lambda: self.numpy.asarray(self.programs.forward(parameters, images, "fp32"))
