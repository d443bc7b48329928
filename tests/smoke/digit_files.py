"""Files of digits as programs leave them, made from the shipped digits, and a table in which they pass for MNIST."""

import base64
import gzip
import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable

import msgspec
import pytest

from gpudoctor.knowledge import mnist
from gpudoctor.smoketests.digits import shipped
from gpudoctor.smoketests.mnist_tfrecord import masked_sum

IMAGES, LABELS = shipped().images, shipped().labels
# Told apart from the shipped ones: every grey level is its complement, every label nine less itself.
OTHER_IMAGES, OTHER_LABELS = bytes(255 - grey for grey in IMAGES), bytes(9 - label for label in LABELS)


def idx(images: bytes = OTHER_IMAGES, labels: bytes = OTHER_LABELS) -> tuple[bytes, bytes]:
    """An IDX file of images and one of labels."""
    count = len(labels)
    return struct.pack(">4I", 0x803, count, 28, 28) + images, struct.pack(">2I", 0x801, count) + labels


def packed(data: bytes) -> bytes:
    """The same, compressed."""
    return gzip.compress(data, mtime=0)


def npy(data: bytes, shape: str, kind: str = "|u1", order: str = "False", version: int = 1) -> bytes:
    """An array as NumPy writes it."""
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def npz(how: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    """An archive of arrays."""
    usual = {"x_train": npy(OTHER_IMAGES, "(256, 28, 28)"), "y_train": npy(OTHER_LABELS, "(256,)")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, data in (usual | members).items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data, how)
    return buffer.getvalue()


def png(pixels: bytes, kind: int = 0, size: tuple[int, int] = (28, 28), depth: int = 8, colour: int = 0) -> bytes:
    """A grey image with one filter for all of its rows."""
    rows = b"".join(bytes([kind]) + row for row in filtered(pixels, kind))
    header = struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def filtered(pixels: bytes, kind: int) -> list[bytes]:
    """The rows after one of PNG's filters."""
    rows = [pixels[at : at + 28] for at in range(0, len(pixels), 28)]
    found = []
    for number, row in enumerate(rows):
        up = rows[number - 1] if number else bytes(28)
        left, corner = b"\0" + row[:-1], b"\0" + up[:-1]
        guesses = {
            0: bytes(28),
            1: left,
            2: up,
            3: bytes((a + b) // 2 for a, b in zip(left, up, strict=True)),
            4: bytes(paeth(*three) for three in zip(left, up, corner, strict=True)),
        }[kind]
        found.append(bytes((pixel - guess) & 255 for pixel, guess in zip(row, guesses, strict=True)))
    return found


def paeth(a: int, b: int, c: int) -> int:
    """Paeth's predictor in the words of the specification."""
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    if pa <= pb and pa <= pc:
        return a
    return b if pb <= pc else c


def field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    length, prefix = len(content), b""
    while length > 127:
        prefix, length = prefix + bytes([length & 127 | 128]), length >> 7
    return bytes([number << 3 | 2]) + prefix + bytes([length]) + content


def example(image: bytes, label: int | None, packed_label: bool = True) -> bytes:
    """A tf.train.Example; None: its list of labels is empty."""
    number = b"" if label is None else field(1, bytes([label])) if packed_label else bytes([1 << 3, label])
    features = field(1, field(1, b"label") + field(2, field(3, number)))
    features += field(1, field(1, b"image") + field(2, field(1, field(1, image))))
    return field(1, features)


def record(data: bytes) -> bytes:
    """A record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    return length + masked_sum(length) + data + masked_sum(data)


def tfrecord(count: int = 256) -> bytes:
    """A file of TensorFlow Datasets."""
    pairs = ((OTHER_IMAGES[at * 784 : at * 784 + 784], OTHER_LABELS[at]) for at in range(count))
    return b"".join(record(example(png(image, 4), label)) for image, label in pairs)


def told(**changes: object) -> str:
    """What read_digits.py prints of such digits."""
    images = [base64.b64encode(png(OTHER_IMAGES[at * 784 : at * 784 + 784])).decode() for at in range(256)]
    whole = {"images": images, "labels": list(OTHER_LABELS), "sum": hashlib.sha256(idx()[1]).hexdigest()}
    return json.dumps(whole | changes)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let these files pass for MNIST: a pair of IDX files, or an archive."""

    def know(images: bytes = b"", labels: bytes = b"", archive: bytes = b"") -> None:
        sums = [hashlib.sha256(data).hexdigest() for data in (images, labels, archive)]
        pairs = (mnist.IdxPair(images=sums[0], labels=sums[1]),)
        table = msgspec.structs.replace(mnist.mnist(), idx=pairs, npz=mnist.Npz(sha256=sums[2]))
        monkeypatch.setattr(mnist, "mnist", lambda: table)
        monkeypatch.setattr("gpudoctor.smoketests.mnist_npz.mnist", lambda: table)

    return know
