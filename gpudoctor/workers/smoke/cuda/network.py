"""The network of two layers on the device, its step written out in kernels."""

from __future__ import annotations

from ..backends.base import Network
from ..network import ArrayNetwork
from ..runner import Unsupported
from .arrays import Array, product
from .kernels import blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..weights import Weights
    from .device import CudaContext


class Images:
    """Neighbouring images and labels of the batch, which stay where they are."""

    def __init__(self, whole: Array, labels: Array, first: int, count: int) -> None:
        self._kept = (whole, labels)
        width = whole.shape[1]
        self.device, self.shape, self.address = whole.device, (count, width), whole.address + 4 * width * first
        self.labels = labels.address + 4 * first


class Pass:
    """Forward and backward through the network with some images, and the space that takes.

    Args:
        device: where everything lies.
        numpy: the module.
        parameters: weight and bias of both layers.
        slopes: as many arrays of the same shapes.
        images: what goes through.
    """

    def __init__(
        self, device: CudaContext, numpy: Any, parameters: list[Array], slopes: list[Array], images: Any
    ) -> None:
        weight1, bias1, weight2, bias2 = parameters
        count, inner, classes = images.shape[0], len(weight1), len(weight2)
        hidden, slope1 = (Array(device, numpy, (count, inner)) for _ in range(2))
        self.logits, slope2 = (Array(device, numpy, (count, classes)) for _ in range(2))
        self.losses = Array(device, numpy, (count,))
        launch = device.launch
        self._forward = [
            product(images, weight1, hidden, b_turned=True),
            launch("add_bias", blocks(hidden.elements), hidden, bias1, count, inner, 1),
            product(hidden, weight2, self.logits, b_turned=True),
            launch("add_bias", blocks(self.logits.elements), self.logits, bias2, count, classes, 0),
        ]
        self._loss = launch("entropy", blocks(count), self.logits, images.labels, self.losses, slope2, count, classes)
        self._backward = [
            product(slope2, hidden, slopes[2], a_turned=True),
            launch("column_sums", blocks(classes), slope2, slopes[3], count, classes),
            product(slope2, weight2, slope1),
            launch("relu_back", blocks(slope1.elements), slope1, hidden, slope1.elements),
            product(slope1, images, slopes[0], a_turned=True),
            launch("column_sums", blocks(inner), slope1, slopes[1], count, inner),
        ]

    def forward(self) -> None:
        """Queue the logits."""
        for queue in self._forward:
            queue()

    def loss(self) -> None:
        """Queue the losses of all images."""
        self.forward()
        self._loss()

    def both(self) -> None:
        """Queue the losses and the slopes of all parameters."""
        self.loss()
        for queue in self._backward:
            queue()


class DeviceNetwork(Network):
    """The network; see Network.

    Args:
        device: where it lies.
        numpy: the module.
        weights: of an MLP.
        images: as bytes, or a float32 array, a row a sample.
        labels: as bytes.
    """

    def __init__(self, device: CudaContext, numpy: Any, weights: Weights, images: Any, labels: bytes) -> None:
        self._device, self._numpy, self.names = device, numpy, weights.names
        self._on_cpu = ArrayNetwork(numpy, weights, images, labels, numpy.float32)
        parameters = self._on_cpu.parameters
        self._parameters = [Array(device, numpy, p.shape, p) for p in parameters]
        self._slopes = [Array(device, numpy, p.shape) for p in parameters]
        self._count = len(labels)
        rows = self._on_cpu.images.reshape(self._count, -1)
        self._images = Array(device, numpy, rows.shape, rows)
        self._labels = Array(device, numpy, (self._count,), self._on_cpu.labels.astype(numpy.int32))
        self._whole = self._pass(0, self._count)

    def _pass(self, first: int, count: int) -> Pass:
        images = Images(self._images, self._labels, first, min(count, self._count - first))
        return Pass(self._device, self._numpy, self._parameters, self._slopes, images)

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        """Loss and gradients of the whole batch."""
        if precision != "fp32" or scale != 1.0:
            raise Unsupported("Mixed precision needs a framework: the bare driver computes in fp32 only.")
        self._whole.both()
        return self._mean_loss(), [slope.host().astype("float64") for slope in self._slopes]

    def _mean_loss(self) -> float:
        return float(self._whole.losses.host().astype("float64").sum() / self._count)

    def update(self, rate: float) -> None:
        """Take the step."""
        for queue in self._steps(rate):
            queue()

    def _steps(self, rate: float) -> list[Callable[[], None]]:
        pairs = zip(self._parameters, self._slopes)
        return [self._device.launch("descend", blocks(p.elements), p, s, rate, p.elements) for p, s in pairs]

    def weights(self) -> list[Any]:
        """The present weights."""
        return [parameter.host().astype("float64") for parameter in self._parameters]

    def loss(self) -> float:
        """The loss of the whole batch."""
        self._whole.loss()
        return self._mean_loss()

    def train(self, batch: int, rate: float, step: int) -> Callable[[], None]:
        """What queues one training step."""
        some, steps = self._pass(step * batch % self._count, batch), self._steps(rate)

        def call() -> None:
            some.both()
            for queue in steps:
                queue()

        return call

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        """What queues a forward pass."""
        if precision != "fp32":
            raise Unsupported("The bare driver computes in fp32 only: %s needs a framework." % precision)
        some = self._pass(0, batch)

        def call() -> Array:
            some.forward()
            return some.logits

        return call

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        """The same by NumPy, with the present weights."""
        self._on_cpu.parameters = [parameter.host() for parameter in self._parameters]
        return self._on_cpu.predict_on_cpu(batch)
