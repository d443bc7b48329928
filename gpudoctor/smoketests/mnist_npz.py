"""Reads digits from Keras's mnist.npz: a zip of arrays, of which only plain bytes are read and nothing is unpickled.

An array begins with a byte 0x93 and "NUMPY", two bytes of version, the length of a header, and the header, a Python
literal that NumPy always writes in the same way (numpy.lib.format).
"""

import hashlib
import io
import re
import zlib

from gpudoctor.knowledge.mnist import mnist
from gpudoctor.machine import Machine
from gpudoctor.smoketests.mnist_sample import COUNT, LIMIT, PIXELS, UNKNOWN, DigitSample, checked, shaped

MAGIC = b"\x93NUMPY"
HEADER = re.compile(rb"\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), \}\s*")
LONGEST = 1 << 10  # bytes of a header; NumPy's take 128


def read(machine: Machine, path: str, sure: bool) -> DigitSample:
    """Read the first digits.

    Args:
        machine: where the file lies.
        path: of the archive.
        sure: only Keras's own file will do; no other is opened then.

    Raises:
        OSError: it cannot be read.
        ValueError: it holds no digits; says why.
    """
    data = machine.data(path, LIMIT)
    known = hashlib.sha256(data).hexdigest() == mnist().npz.sha256
    if sure and not known:
        raise ValueError(UNKNOWN)
    source = "MNIST (Keras's file, verified)" if known else "digits of an npz file, unverified"
    return DigitSample(*checked(_array(data, "x_train", 3), _array(data, "y_train", 1)), source)


def _array(data: bytes, name: str, dimensions: int) -> bytes:
    """The first elements of an array; a member that claims to be enormous is not decompressed further."""
    content = _member(data, f"{name}.npy")
    size = 2 if content[6:7] == b"\1" else 4  # of the header's length, from version 2.0 on
    begin = 8 + size
    end = begin + int.from_bytes(content[8:begin], "little")
    header = HEADER.fullmatch(content[begin : min(end, LONGEST)])
    if not content.startswith(MAGIC) or header is None:
        raise ValueError(f"{name} is no array that NumPy wrote")
    shape = [int(length) for length in header[3].decode().replace(" ", "").split(",") if length]
    if header[1] != b"|u1" or header[2] == b"True" or len(shape) != dimensions:
        raise ValueError(f"{name} is not an array of unsigned bytes in {dimensions} dimensions")
    if dimensions == 3:
        shaped(shape[1:])
    return content[end : end + shape[0] * (PIXELS if dimensions == 3 else 1)]


def _member(data: bytes, name: str) -> bytes:
    import struct
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as member:
            if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("compressed otherwise than by deflate")
            return member.read(LONGEST + COUNT * PIXELS)
    except KeyError:
        raise ValueError(f"it has no {name}") from None
    # A damaged archive shows in any of these; RuntimeError: it is encrypted, or compressed in an unknown way.
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError) as error:
        raise ValueError(f"its zip archive is damaged ({error})") from None
