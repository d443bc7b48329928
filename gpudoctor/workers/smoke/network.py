"""The networks with their backward pass written out, for arrays like NumPy's: CuPy's, and the reference in float64."""

from __future__ import annotations

from .weights import DEVIATION, MEAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .host_math import NumpyHost
    from .weights import Weights


def reference(host: NumpyHost, weights: Weights, images: bytes, labels: bytes) -> tuple[float, list[Any]]:
    """Loss and gradients in float64 by NumPy.

    Args:
        host: NumPy.
        weights: of a CNN (its first layer is a convolution) or of an MLP.
        images: 28 x 28 grey levels each.
        labels: a byte each.
    """
    net = ArrayNetwork(host.module, weights, images, labels, host.module.float64)
    return net.gradients()


class ArrayNetwork:
    """A network over the arrays of one module (numpy, cupy), in one data type."""

    def __init__(self, xp: Any, weights: Weights, images: Any, labels: bytes, dtype: Any) -> None:
        self.xp, self.names, self.dtype = xp, weights.names, dtype
        self.convolutional = len(weights.shapes[0]) == 4
        self.parameters = [
            xp.asarray(_floats(data, shape)).astype(dtype) for data, shape in zip(weights.buffers, weights.shapes)
        ]
        self.images, self.labels = _batch(xp, images, labels, dtype)
        self._last: list[Any] = []

    # -- what a step is made of --------------------------------------------------------------------------

    def gradients_of(self, images: Any, labels: Any) -> tuple[Any, list[Any]]:
        """Loss and gradients of a batch, as arrays of the module."""
        xp, count = self.xp, len(labels)
        caches: list[Any] = []
        logits = self._forward(images, caches)
        shifted = logits - logits.max(axis=1, keepdims=True)
        logs = shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))
        rows = xp.arange(count)
        loss = -logs[rows, labels].sum() / count
        slope = xp.exp(logs)
        slope[rows, labels] -= 1
        return loss, self._backward(slope / count, caches)

    def loss_of(self, images: Any, labels: Any) -> Any:
        """The loss of a batch."""
        xp = self.xp
        logits = self._forward(images, [])
        shifted = logits - logits.max(axis=1, keepdims=True)
        logs = shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))
        return -logs[xp.arange(len(labels)), labels].sum() / len(labels)

    def _forward(self, x: Any, caches: list[Any]) -> Any:
        w = self.parameters
        if self.convolutional:
            x = _convolved(self.xp, x, w[0], w[1], caches)
            x = _convolved(self.xp, x, w[2], w[3], caches)
            w = w[4:]
        x = x.reshape(len(x), -1)
        before = x @ w[0].T + w[1]
        hidden = self.xp.maximum(before, 0)
        caches.append((x, hidden))
        return hidden @ w[2].T + w[3]

    def _backward(self, slope: Any, caches: list[Any]) -> list[Any]:
        w = self.parameters[-4:]
        x, hidden = caches.pop()
        found = [slope.T @ hidden, slope.sum(axis=0)]
        slope = (slope @ w[2]) * (hidden > 0)
        found = [slope.T @ x, slope.sum(axis=0), *found]
        if not self.convolutional:
            return found
        slope = slope @ w[0]
        for at in (2, 0):
            slope, weight, bias = _convolved_back(self.xp, slope, self.parameters[at], caches.pop(), at > 0)
            found = [weight, bias, *found]
        return found

    # -- as gpudoctor/workers/smoke/backends/base.py has it -------------------------------------------------

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        """Loss and gradients of the whole batch."""
        if precision != "fp32" or scale != 1.0:
            from .runner import Unsupported

            raise Unsupported("This network, written by hand, has no mixed precision.")
        loss, self._last = self.gradients_of(self.images, self.labels)
        return float(loss), [self.to_host(g) for g in self._last]

    def update(self, rate: float) -> None:
        """Take the step."""
        for parameter, gradient in zip(self.parameters, self._last):
            parameter -= gradient * self.dtype(rate)

    def weights(self) -> list[Any]:
        """The present weights in float64."""
        return [self.to_host(p) for p in self.parameters]

    def loss(self) -> float:
        """The loss of the whole batch."""
        return float(self.loss_of(self.images, self.labels))

    def train(self, batch: int, rate: float, step: int) -> Callable[[], None]:
        """One whole training step."""
        begin = step * batch % len(self.labels)
        images, labels = self.images[begin : begin + batch], self.labels[begin : begin + batch]

        def call() -> None:
            _, slopes = self.gradients_of(images, labels)
            for parameter, slope in zip(self.parameters, slopes):
                parameter -= slope * self.dtype(rate)

        return call

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        """A forward pass."""
        if precision != "fp32":
            from .runner import Unsupported

            raise Unsupported("This network, written by hand, computes in float32 only.")
        images = self.images[:batch]
        return lambda: self._forward(images, [])

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        """A forward pass by NumPy."""
        import numpy

        other = ArrayNetwork.__new__(ArrayNetwork)
        other.xp, other.convolutional, other.dtype = numpy, self.convolutional, numpy.float32
        other.parameters = [self.to_host(p).astype(numpy.float32) for p in self.parameters]
        images = self.to_host(self.images[:batch]).astype(numpy.float32)
        return lambda: other._forward(images, [])

    def to_host(self, array: Any) -> Any:
        """An array as NumPy's, in float64."""
        return (array.get() if hasattr(array, "get") else array).astype("float64")


def _floats(data: bytes, shape: tuple[int, ...]) -> Any:
    import numpy

    return numpy.frombuffer(data, numpy.float32).reshape(shape)


def _batch(xp: Any, images: Any, labels: bytes, dtype: Any) -> tuple[Any, Any]:
    import numpy

    normal = images
    if isinstance(images, bytes):
        levels = numpy.frombuffer(images, numpy.uint8).reshape(len(labels), 1, 28, 28)
        normal = ((levels.astype(numpy.float32) / numpy.float32(255)) - numpy.float32(MEAN)) / numpy.float32(DEVIATION)
    return xp.asarray(normal).astype(dtype), xp.asarray(numpy.frombuffer(labels, numpy.uint8).astype(numpy.int64))


def _patches(xp: Any, x: Any, size: int) -> Any:
    """All size x size windows of images as rows: (images, rows, columns, channels * size * size)."""
    n, c, h, w = x.shape
    s = x.strides
    windows = xp.lib.stride_tricks.as_strided(
        x, (n, h - size + 1, w - size + 1, c, size, size), (s[0], s[2], s[3], s[1], s[2], s[3])
    )
    return windows.reshape(n, h - size + 1, w - size + 1, c * size * size)


def _convolved(xp: Any, x: Any, weight: Any, bias: Any, caches: list[Any]) -> Any:
    """Convolution, ReLU, and the maximum over 2 x 2."""
    x = xp.ascontiguousarray(x)
    patches = _patches(xp, x, weight.shape[-1])
    y = xp.maximum(patches @ weight.reshape(len(weight), -1).T + bias, 0)  # images, rows, columns, channels
    n, h, w, c = y.shape
    blocks = y.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4).reshape(n, h // 2, w // 2, c, 4)
    where = blocks.argmax(axis=-1)
    caches.append((x.shape, patches, where, y.shape, blocks.max(axis=-1) > 0))
    return blocks.max(axis=-1).transpose(0, 3, 1, 2)


def _convolved_back(xp: Any, slope: Any, weight: Any, cache: Any, further: bool) -> tuple[Any, Any, Any]:
    """The slopes of input, weight and bias; the input's only where it is needed."""
    shape, patches, where, (n, h, w, c), positive = cache
    slope = slope.reshape(n, c, h // 2, w // 2).transpose(0, 2, 3, 1) * positive
    blocks = (xp.arange(4) == where[..., None]) * slope[..., None]
    slope = blocks.reshape(n, h // 2, w // 2, c, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(-1, c)
    flat = patches.reshape(-1, patches.shape[-1])
    weight_slope = (slope.T @ flat).reshape(weight.shape)
    if not further:
        return None, weight_slope, slope.sum(axis=0)
    back = (slope @ weight.reshape(len(weight), -1)).reshape(n, h, w, shape[1], weight.shape[-1], weight.shape[-1])
    x_slope = xp.zeros(shape, dtype=back.dtype)
    for row in range(weight.shape[-1]):
        for column in range(weight.shape[-1]):
            x_slope[:, :, row : row + h, column : column + w] += back[..., row, column].transpose(0, 3, 1, 2)
    return x_slope, weight_slope, slope.sum(axis=0)
