"""The classifier of digits with PyTorch's layers, autograd and autocast."""

from __future__ import annotations

from contextlib import contextmanager

from ...runner import Unsupported
from ...weights import DEVIATION, MEAN
from ..base import Network
from .precision import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ...weights import Weights
    from . import PytorchBackend


def reference(backend: PytorchBackend, weights: Weights, images: bytes, labels: bytes) -> tuple[float, list[Any]]:
    """Loss and gradients in float64 on the CPU."""
    torch = backend.torch
    parameters = parameters_of(torch, weights, "cpu", torch.float64)
    pictures, classes = batch(torch, images, labels)
    loss = loss_of(torch, parameters, pictures.double(), classes)
    return float(loss.detach()), [backend.on_host(g) for g in torch.autograd.grad(loss, parameters)]


def batch(torch: Any, images: Any, labels: bytes) -> tuple[Any, Any]:
    """The normalised images in float32, or samples as they are, and the labels, both on the CPU.

    There it is done with the same bits as everywhere; a GPU may divide by multiplying with the reciprocal.
    """
    classes = torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()
    if not isinstance(images, bytes):
        return torch.as_tensor(images), classes
    levels = torch.frombuffer(bytearray(images), dtype=torch.uint8).reshape(-1, 1, 28, 28)
    white, mean, deviation = (torch.tensor(value, dtype=torch.float32) for value in (255.0, MEAN, DEVIATION))
    return (levels.float() / white - mean) / deviation, classes


def logits(torch: Any, parameters: Sequence[Any], images: Any) -> Any:
    """The forward pass: of the convolutional network, or of two layers where there are four parameters."""
    layers, x, w = torch.nn.functional, images, list(parameters)
    while len(w) > 4:
        x = layers.max_pool2d(torch.relu(layers.conv2d(x, w.pop(0), w.pop(0))), 2)
    hidden = torch.relu(layers.linear(x.flatten(1), w[0], w[1]))
    return layers.linear(hidden, w[2], w[3])


def loss_of(torch: Any, parameters: Sequence[Any], images: Any, labels: Any) -> Any:
    """The cross-entropy, averaged over the batch."""
    return torch.nn.functional.cross_entropy(logits(torch, parameters, images), labels)


class Classifier(Network):
    """The network on the backend's device."""

    def __init__(self, backend: PytorchBackend, weights: Weights, images: Any, labels: bytes) -> None:
        torch = backend.torch
        self.backend, self.torch, self.names = backend, torch, weights.names
        self.parameters = parameters_of(torch, weights, backend.device, torch.float32)
        pictures, classes = batch(torch, images, labels)
        self.images, self.labels = pictures.to(backend.device), classes.to(backend.device)
        self._slopes: list[Any] = []

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        """By autograd; the scale is taken out again in float32, on the device."""
        with self.backend.precision(precision):
            with self._autocast(precision):
                loss = loss_of(self.torch, self.parameters, self.images, self.labels)
            slopes = self.torch.autograd.grad(loss * scale, self.parameters)
        self._slopes = [slope / scale for slope in slopes]
        return float(loss.detach()), [self.backend.on_host(slope) for slope in self._slopes]

    @contextmanager
    def _autocast(self, precision: str) -> Iterator[None]:
        """PyTorch's choice of the operations that run in 16 bits; none of them in fp32 and tf32."""
        if precision in ("fp32", "tf32"):
            yield
            return
        dtype = getattr(self.torch, TYPES[precision])
        with self.torch.autocast(self.backend.device.type, dtype=dtype):
            yield

    def update(self, rate: float) -> None:
        """Plain gradient descent."""
        self._descend(self._slopes, rate)

    def _descend(self, slopes: Sequence[Any], rate: float) -> None:
        with self.torch.no_grad():
            for parameter, slope in zip(self.parameters, slopes):
                parameter.sub_(slope, alpha=rate)

    def weights(self) -> list[Any]:
        """Copied."""
        return [self.backend.on_host(parameter) for parameter in self.parameters]

    def loss(self) -> float:
        """Of the whole batch."""
        with self.torch.no_grad():
            return float(loss_of(self.torch, self.parameters, self.images, self.labels))

    def train(self, batch: int, rate: float, step: int) -> Callable[[], None]:
        """Forward, backward and the change of the weights."""
        at = (self.torch.arange(batch) + step * batch) % len(self.labels)
        images, labels = (kept[at.to(self.backend.device)] for kept in (self.images, self.labels))

        def call() -> None:
            loss = loss_of(self.torch, self.parameters, images, labels)
            self._descend(self.torch.autograd.grad(loss, self.parameters), rate)

        return call

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        """With weights and images that were rounded before, as one would serve them."""
        lacks = self.backend.lacks(precision)
        if lacks:
            raise Unsupported(lacks)
        dtype = getattr(self.torch, TYPES[precision])
        return self._forward(batch, lambda array: array.to(dtype))

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        """The same in float32 on the CPU."""
        forward = self._forward(batch, lambda array: array.cpu())
        return lambda: self.backend.on_host(forward())

    def _forward(self, batch: int, moved: Callable[[Any], Any]) -> Callable[[], Any]:
        parameters, images = [moved(p.detach()).clone() for p in self.parameters], moved(self.images[:batch])

        def call() -> Any:
            with self.torch.no_grad():
                return logits(self.torch, parameters, images)

        return call


def parameters_of(torch: Any, weights: Weights, device: Any, dtype: Any) -> list[Any]:
    """The weights as leaves of autograd."""
    found = []
    for data, shape in zip(weights.buffers, weights.shapes):
        values = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)
        found.append(values.to(device=device, dtype=dtype, copy=True).requires_grad_())
    return found
