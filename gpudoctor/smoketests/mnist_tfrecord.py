"""Reads digits from the file that TensorFlow Datasets keeps: records, in each a tf.train.Example with a PNG image.

A record is its length (8 bytes, little-endian), a check sum of that, the data, a check sum of it
(https://www.tensorflow.org/tutorials/load_data/tfrecord). An Example is a protocol buffer, in the terms of
tensorflow/core/example/feature.proto: features (1) > feature (1), a map of a name (1) to a value (2), which is a list
of bytes (1) or of numbers (3). Its order is shuffled, so that no published sum tells whether it is MNIST.
"""

from collections.abc import Iterator

from gpudoctor.machine import Machine
from gpudoctor.smoketests.mnist_png import decode
from gpudoctor.smoketests.mnist_sample import COUNT, LIMIT, UNKNOWN, DigitSample, checked

LONGEST = 1 << 14  # bytes of a record; MNIST's take 300
POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected
MASK_DELTA = 0xA282EAD8  # of TensorFlow's masked check sums (tensorflow/core/lib/hash/crc32c.h)


def read(machine: Machine, path: str, sure: bool) -> DigitSample:
    """Read the first digits.

    Args:
        machine: where the file lies.
        path: of the file.
        sure: only MNIST will do; by its name, for want of anything better.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds no digits; says why.
    """
    named = path.rpartition("/")[2].startswith("mnist-")
    if sure and not named:
        raise ValueError(UNKNOWN)
    images, labels = bytearray(), bytearray()
    for record in _records(machine.data(path, LIMIT)):
        found = _example(record)
        images += decode(found["image"])
        labels += found["label"]
    source = "MNIST (TensorFlow Datasets, unverified)" if named else "digits of a TFRecord file, unverified"
    return DigitSample(*checked(bytes(images), bytes(labels)), source)


def _records(data: bytes) -> Iterator[bytes]:
    """The first records, each held against its check sum."""
    at = 0
    for _ in range(COUNT):
        length = int.from_bytes(data[at : at + 8], "little")
        record = data[at + 12 : at + 12 + length]
        if at == len(data):
            return
        if length > LONGEST or data[at + 12 + length : at + 16 + length] != masked_sum(record):
            raise ValueError("it is no TFRecord file, or damaged")
        yield record
        at += 16 + length


def _example(record: bytes) -> dict[str, bytes]:
    """Image and label of an Example."""
    found: dict[str, bytes] = {}
    for features in _fields(record, 1):
        for feature in _fields(features, 1):
            name = b"".join(_fields(feature, 1)).decode("utf-8", "replace")
            value = b"".join(_fields(feature, 2))
            found[name] = b"".join(b"".join(_fields(value, kind)) for kind in (1, 3))
    try:
        image, label = (b"".join(_fields(found[name], 1)) for name in ("image", "label"))
    except KeyError as name:
        raise ValueError(f"its records have no {name}") from None
    if not label:
        raise ValueError("one of its records has no label")
    return {"image": image, "label": label[:1]}


def _fields(message: bytes, wanted: int) -> Iterator[bytes]:
    """The fields with a number; of bytes as they are, of numbers (all that are asked for are below 128) as a byte."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        if tag & 7 == 0:
            value, at = _number(message, at)
            content = bytes([min(value, 255)])
        elif tag & 7 == 2:
            length, at = _number(message, at)
            content, at = message[at : at + length], at + length
        else:
            raise ValueError("its records are no examples")
        if tag >> 3 == wanted:
            yield content


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    value = shift = 0
    while at < len(message) and shift < 64:
        value |= (message[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if message[at - 1] < 128:
            return value, at
    raise ValueError("its records are no examples")


def masked_sum(data: bytes) -> bytes:
    """TensorFlow's check sum of a record."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((((crc >> 15) | (crc << 17)) + MASK_DELTA) & 0xFFFFFFFF).to_bytes(4, "little")


def _table() -> Iterator[int]:
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (POLYNOMIAL if number & 1 else 0)
        yield number


_TABLE = tuple(_table())
