"""Reads digits from a pair of IDX files, as they are or compressed by gzip: what torchvision and most others download.

The format is that of http://yann.lecun.com/exdb/mnist/: two zero bytes, the type of the elements (8: unsigned bytes),
the number of dimensions, the length of each as a big-endian number of four bytes, the elements.
"""

import hashlib
import struct
import zlib

from gpudoctor.knowledge.mnist import is_mnist
from gpudoctor.machine import Machine
from gpudoctor.smoketests.mnist_sample import COUNT, LIMIT, PIXELS, UNKNOWN, DigitSample, checked, shaped

GZIP = b"\x1f\x8b"
UNSIGNED = b"\0\0\x08"
HEAD = 16  # bytes before the images


def read(machine: Machine, path: str, sure: bool) -> DigitSample:
    """Read the first digits.

    Args:
        machine: where they lie.
        path: of the images; the labels lie beside them.
        sure: only MNIST will do; Fashion-MNIST and others have the same names.

    Raises:
        OSError: a file cannot be read.
        ValueError: it holds no digits; says why.
    """
    images, labels = machine.data(path, LIMIT), machine.data(labels_of(path), LIMIT)
    known = is_mnist(hashlib.sha256(images).hexdigest(), hashlib.sha256(labels).hexdigest())
    if sure and not known:
        raise ValueError(UNKNOWN)
    whose = "torchvision's files" if "/MNIST/raw/" in path else "IDX files"
    source = f"MNIST ({whose}, verified)" if known else "IDX digits, unverified"
    return DigitSample(*checked(_elements(images, 3), _elements(labels, 1)), source)


def labels_of(path: str) -> str:
    """The path of the labels that belong to images."""
    folder, slash, name = path.rpartition("/")
    return folder + slash + name.replace("images", "labels").replace("idx3", "idx1")


def _elements(data: bytes, dimensions: int) -> bytes:
    """The first elements of a file: as many as are needed, and no more is decompressed."""
    if data.startswith(GZIP):
        try:
            data = zlib.decompressobj(wbits=31).decompress(data, HEAD + COUNT * PIXELS)
        except zlib.error as error:
            raise ValueError(f"its gzip data is damaged ({error})") from None
    head = 4 + 4 * dimensions
    if data[:3] != UNSIGNED or data[3] != dimensions or len(data) < head:
        what = "images" if dimensions == 3 else "labels"
        raise ValueError(f"it is no IDX file of {what}")
    count, *size = struct.unpack_from(f">{dimensions}I", data, 4)
    if dimensions == 1:
        return data[head : head + count]
    shaped(size)
    return data[head : head + count * PIXELS]
