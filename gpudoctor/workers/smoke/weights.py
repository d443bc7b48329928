"""The first weights of the networks: made by counting, so that every framework starts from the same bits."""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# (name, shape, fan-in): a small convolutional network for 28 x 28 digits. Convolutions are 5 x 5 without padding,
# each followed by ReLU and by a maximum over 2 x 2; shapes are out x in x height x width, and out x in.
CNN = (
    ("conv1.weight", (16, 1, 5, 5), 25),
    ("conv1.bias", (16,), 25),
    ("conv2.weight", (32, 16, 5, 5), 400),
    ("conv2.bias", (32,), 400),
    ("fc1.weight", (128, 512), 512),
    ("fc1.bias", (128,), 512),
    ("fc2.weight", (10, 128), 128),
    ("fc2.bias", (10,), 128),
)
# Two layers with ReLU between them, for the bare driver.
MLP = (
    ("fc1.weight", (64, 784), 784),
    ("fc1.bias", (64,), 784),
    ("fc2.weight", (10, 64), 64),
    ("fc2.bias", (10,), 64),
)
# The network of a first exercise: 100 features, 50 hidden units, 10 classes.
SMALL = (
    ("fc1.weight", (50, 100), 100),
    ("fc1.bias", (50,), 100),
    ("fc2.weight", (10, 50), 50),
    ("fc2.bias", (10,), 50),
)
# Mean and standard deviation of MNIST's training images, with which everybody normalises them.
MEAN, DEVIATION = 0.1307, 0.3081


class Weights:
    """Named parameters as native float32 in buffers.

    Attributes:
        names: of the parameters.
        shapes: of each.
        buffers: of each, its values in C order.
        seed: from which they were made.
    """

    def __init__(self, layers: tuple[tuple[str, tuple[int, ...], int], ...] = CNN, seed: int = 1) -> None:
        self.seed = seed
        self.names = tuple(name for name, _, _ in layers)
        self.shapes: tuple[tuple[int, ...], ...] = tuple(shape for _, shape, _ in layers)
        self.buffers = tuple(
            array("f", _uniform(size(shape), _bound(name, fan_in), seed * 1000 + at)).tobytes()
            for at, (name, shape, fan_in) in enumerate(layers)
        )


class Batch:
    """First weights, and the images and labels of a step: 28 x 28 grey levels each, and a byte each."""

    def __init__(self, first: Weights, images: bytes, labels: bytes) -> None:
        self.first, self.images, self.labels = first, images, labels

    def part(self, number: int, count: int) -> Batch:
        """One of `count` equal parts, with the same weights; images that are left over belong to none."""
        each = len(self.labels) // count
        begin, end = number * each, (number + 1) * each
        pixels = len(self.images) // len(self.labels)
        return Batch(self.first, self.images[begin * pixels : end * pixels], self.labels[begin:end])


def size(shape: tuple[int, ...]) -> int:
    """The number of elements."""
    count = 1
    for length in shape:
        count *= length
    return count


def _bound(name: str, fan_in: int) -> float:
    """Weights of variance 1 / fan-in keep the scale of what they pass on (Y. LeCun et al., "Efficient BackProp", 1998).

    With the third of it, which some frameworks take, twenty plain steps learn hardly anything.
    """
    return float((1.0 if name.endswith("bias") else 3.0) ** 0.5 / fan_in**0.5)


def _uniform(count: int, bound: float, seed: int) -> Iterator[float]:
    """Numbers in [-bound, bound), by a hash of their places: 24 bits of it, which float32 holds exactly.

    The hash is the finaliser of MurmurHash3 (public domain, A. Appleby).
    """
    for at in range(count):
        h = (at * 0x9E3779B1 + seed * 0x85EBCA77 + 1) & 0xFFFFFFFF
        h = ((h ^ (h >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
        h = ((h ^ (h >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
        h ^= h >> 16
        yield ((h >> 8) / 8388608.0 - 1.0) * bound
