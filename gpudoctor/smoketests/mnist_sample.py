"""What every format of digits is read into: the first 256 images and labels, and what they are."""

from collections.abc import Sequence
from typing import NamedTuple

from gpudoctor.smoketests.options import ChoiceError

COUNT, SIDE = 256, 28
PIXELS = SIDE * SIDE
# The largest of MNIST's files holds 47 MB; whatever is larger is not read to its end.
LIMIT = 64 << 20
# Labels sorted by class would leave nothing to learn in the first batch.
FEWEST_CLASSES = 5
UNKNOWN = "its SHA-256 is not that of MNIST"


class DigitsError(ChoiceError):
    """These digits cannot be used; the message is a sentence with the file's path."""


class DigitSample(NamedTuple):
    """The first 256 digits of a file.

    Attributes:
        images: 28 x 28 grey levels each.
        labels: a byte each.
        source: what they are, and whether a SHA-256 shows it: "MNIST (Keras's file, verified)".
    """

    images: bytes
    labels: bytes
    source: str


def checked(images: bytes, labels: bytes) -> tuple[bytes, bytes]:
    """The first 256 images and labels.

    Raises:
        ValueError: there are fewer, or the labels are not those of digits; says why.
    """
    found = min(len(images) // PIXELS, len(labels))
    if found < COUNT:
        raise ValueError(f"it holds {found} digits, and the training step needs {COUNT}")
    images, labels = images[: COUNT * PIXELS], labels[:COUNT]
    if max(labels) > 9:
        raise ValueError(f"a label is {max(labels)}, and those of digits go from 0 to 9")
    if len(set(labels)) < FEWEST_CLASSES:
        raise ValueError(f"its first {COUNT} labels name only {len(set(labels))} different digits")
    return images, labels


def shaped(dimensions: Sequence[int]) -> None:
    """Refuse images that are not 28 x 28.

    Raises:
        ValueError: says what they are.
    """
    if list(dimensions) != [SIDE, SIDE]:
        raise ValueError(f"its images are {' x '.join(map(str, dimensions))}, not {SIDE} x {SIDE}")
