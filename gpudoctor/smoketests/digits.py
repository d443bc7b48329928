"""Which digits the training step sees: those that are shipped, or those of a .npz file that the user names."""

import hashlib
import io
import os
import pkgutil
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
    import numpy

    if not data.startswith(ZIP):
        raise ValueError("not a .npz file; write one with numpy.savez(path, x_train=images, y_train=labels)")
    try:
        with numpy.load(io.BytesIO(data), allow_pickle=False) as archive:
            if any(member.file_size > LIMIT for member in archive.zip.infolist()):
                raise ValueError(f"an array in it is larger than {LIMIT} bytes")
            images, labels = archive["x_train"][:COUNT], archive["y_train"][:COUNT]
    except KeyError as error:
        raise ValueError(f"not digits: {error.args[0]}") from None
    except Exception as error:  # zipfile, zlib and numpy.lib.format raise a dozen kinds on damage
        raise ValueError(f"damaged, or not digits ({error})") from None
    if not (
        images.dtype == labels.dtype == numpy.uint8 and (images.shape, labels.shape) == ((COUNT, SIDE, SIDE), (COUNT,))
    ):
        raise ValueError(f"x_train must be at least {COUNT} images of {SIDE} x {SIDE} bytes, y_train a byte for each")
    if labels.max() > 9 or len(set(labels.tolist())) < MIN_CLASSES:
        raise ValueError(f"its first {COUNT} labels must be 0 to 9, of at least {MIN_CLASSES} different digits")
    return images.tobytes(), labels.tobytes()
