"""Decodes the PNG images in which Hugging Face and TensorFlow Datasets keep digits: 28 x 28, 8-bit grey.

The format is https://www.w3.org/TR/png-3/; other colours, sizes and interlacing are refused.
"""

import struct
import zlib
from collections.abc import Iterator

from gpudoctor.smoketests.mnist_sample import SIDE, shaped

SIGNATURE = b"\x89PNG\r\n\x1a\n"
ROW = 1 + SIDE  # the filter's number, then the pixels


def decode(data: bytes) -> bytes:
    """The 784 grey levels of an image.

    Raises:
        ValueError: it is no such image; says why.
    """
    chunks = list(_chunks(data))
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13:
        raise ValueError("one of its images has no PNG header")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    shaped((height, width))
    if (depth, colour, interlaced) != (8, 0, 0):
        raise ValueError("one of its images is no plain 8-bit grey")
    try:
        rows = zlib.decompressobj().decompress(b"".join(d for kind, d in chunks if kind == b"IDAT"), SIDE * ROW)
    except zlib.error as error:
        raise ValueError(f"one of its images is damaged ({error})") from None
    if len(rows) != SIDE * ROW:
        raise ValueError("one of its images is cut short")
    return _unfiltered(rows)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise ValueError("one of its images is no PNG")
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + length]
        if len(content) != length or data[at + 8 + length : at + 12 + length] != _sum(kind + content):
            raise ValueError("one of its images is damaged")
        yield kind, content
        at += 12 + length


def _sum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _unfiltered(rows: bytes) -> bytes:
    """Undo the filter of each row: a pixel was written as its difference from what its neighbours foretell."""
    found = bytearray()
    above = bytearray(SIDE)
    for begin in range(0, SIDE * ROW, ROW):
        kind, row = rows[begin], bytearray(rows[begin + 1 : begin + ROW])
        if kind > 4:
            raise ValueError("one of its images is damaged")
        for x in range(SIDE) if kind else ():
            left, corner = (row[x - 1], above[x - 1]) if x else (0, 0)
            row[x] = (row[x] + _foretold(kind, left, above[x], corner)) & 255
        found += row
        above = row
    return bytes(found)


def _foretold(kind: int, left: int, up: int, corner: int) -> int:
    """PNG's filters 1 to 4: Sub, Up, Average, Paeth."""
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda pixel: abs(guess - pixel))  # the first of equals, as PNG wants it
    return (left, up, (left + up) // 2)[kind - 1]
