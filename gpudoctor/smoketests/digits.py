"""Which digits the training step sees: those that are shipped, or those of a .npz file that the user names."""

import ast
import hashlib
import io
import math
import os
import pkgutil
import zipfile
import zlib

import msgspec

from gpudoctor.machine import Machine
from gpudoctor.smoketests.options import ChoiceError

VARIABLE = "GPUDOCTOR_MNIST"
COUNT, SIDE = 256, 28
LIMIT = 64 << 20  # bytes of the file, and of each array in it; MNIST's 60,000 images take 47 MB
# Labels sorted by class would leave nothing to learn in the first batch.
MIN_CLASSES = 5
ZIP = b"PK\x03\x04"
NPY = b"\x93NUMPY"
LONGEST_HEADER = 10_000  # as numpy.lib.format has it: literal_eval may need much memory for more


class DigitsError(ChoiceError):
    """These digits cannot be used; the message is a sentence with the file's path."""


class Digits(msgspec.Struct, frozen=True):
    """256 digits.

    Attributes:
        images: 28 x 28 grey levels each, row by row.
        labels: a byte each, 0 to 9.
        source: what they are, for people: "256 rendered digits".
    """

    images: bytes
    labels: bytes
    source: str


def digits(machine: Machine, path: str | None = None) -> Digits:
    """The digits of the training step. Nothing is downloaded, and nothing is unpickled.

    Args:
        machine: that has the file.
        path: a .npz file that the user names, with x_train and y_train as in Keras's mnist.npz; None: what
            GPUDOCTOR_MNIST names, and without it the shipped digits.

    Raises:
        DigitsError: what the user named cannot be used, or the shipped file is damaged.
    """
    named = path or machine.env.get(VARIABLE)
    if not named:
        return shipped()
    if named.startswith("~/"):
        named = machine.env.get("HOME", "") + named[1:]
    named = os.path.abspath(named)
    try:
        return Digits(*_read(machine.data(named, LIMIT)), "digits of a .npz file")
    except OSError as error:
        raise DigitsError(f"{named}: {error.strerror}.") from None
    except ValueError as reason:
        raise DigitsError(f"{named}: {reason}.") from None


def shipped() -> Digits:
    """The digits that docs/render_digits.py drew.

    Raises:
        DigitsError: the file is damaged.
    """
    data = pkgutil.get_data("gpudoctor.smoketests", "digits.gz") or b""
    wanted = (pkgutil.get_data("gpudoctor.smoketests", "digits.sha256") or b"").split(b" ")[0]
    if hashlib.sha256(data).hexdigest().encode() != wanted:
        raise DigitsError(
            "The digits that come with gpudoctor (smoketests/digits.gz) are damaged: reinstall gpudoctor."
        )
    content = zlib.decompress(data, wbits=31)
    return Digits(content[:-COUNT], content[-COUNT:], f"{COUNT} rendered digits")


def _read(data: bytes) -> tuple[bytes, bytes]:
    """The first 256 images and labels of an archive; ValueError says what is wrong with it."""
    if not data.startswith(ZIP):
        raise ValueError("not a .npz file; write one with numpy.savez(path, x_train=images, y_train=labels)")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if any(member.file_size > LIMIT for member in archive.infolist()):
                raise ValueError(f"an array in it is larger than {LIMIT} bytes")
            images = _first(archive.read("x_train.npy"), (SIDE, SIDE))
            labels = _first(archive.read("y_train.npy"), ())
    except KeyError as error:
        raise ValueError(f"not digits ({error.args[0]})") from None
    except Exception as error:  # zipfile, zlib and ast raise a dozen kinds on damage
        raise ValueError(f"damaged, or not digits ({error})") from None
    if images is None or labels is None:
        raise ValueError(f"x_train must be at least {COUNT} images of {SIDE} x {SIDE} bytes, y_train a byte for each")
    if max(labels) > 9 or len(set(labels)) < MIN_CLASSES:
        raise ValueError(f"its first {COUNT} labels must be 0 to 9, of at least {MIN_CLASSES} different digits")
    return images, labels


def _first(array: bytes, shape: tuple[int, ...]) -> bytes | None:
    """The first 256 members of an array of bytes, in C order; None where it is of another type or shape.

    Args:
        array: a .npy file (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
        shape: that each member must have.
    """
    begin, width = (10, 2) if array[6:7] == b"\1" else (12, 4)  # of the header, and of the number that is its length
    if not array.startswith(NPY):
        raise ValueError("a member is no array")
    end = begin + int.from_bytes(array[8 : 8 + width], "little")
    if end > LONGEST_HEADER:
        raise ValueError("an array's header is too long")
    header = ast.literal_eval(array[begin:end].decode("latin-1").strip())
    (count, *rest), content = header["shape"] or (0,), array[end:]
    if header["descr"] not in ("|u1", "<u1", ">u1") or tuple(rest) != shape or count < COUNT:
        return None
    size = math.prod(shape)
    if len(content) < count * size:
        raise ValueError("an array ends early")
    if not header["fortran_order"]:
        return content[: COUNT * size]
    rows = shape[0] if shape else 1
    return b"".join(content[at::count][row:size:rows] for at in range(COUNT) for row in range(rows))
