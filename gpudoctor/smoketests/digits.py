"""Which digits the training step sees: those that are shipped, or the real MNIST where it lies on disk."""

import hashlib
import pkgutil
import zlib
from collections.abc import Callable

import msgspec

from gpudoctor.knowledge.mnist import Format
from gpudoctor.machine import Machine
from gpudoctor.smoketests import mnist_arrow, mnist_idx, mnist_npz, mnist_places, mnist_tfrecord
from gpudoctor.smoketests.mnist_places import DigitsFile
from gpudoctor.smoketests.mnist_sample import COUNT, LIMIT, DigitSample, DigitsError

__all__ = ["Digits", "DigitsError", "digits", "shipped"]

VARIABLE = "GPUDOCTOR_MNIST"
READERS: dict[Format, Callable[[Machine, str, bool], DigitSample]] = {
    "idx": mnist_idx.read,
    "npz": mnist_npz.read,
    "tfrecord": mnist_tfrecord.read,
}


class Digits(msgspec.Struct, frozen=True):
    """256 digits.

    Attributes:
        images: 28 x 28 grey levels each, row by row.
        labels: a byte each, 0 to 9.
        source: what they are, for people: "256 rendered digits", "MNIST (torchvision's files, verified)".
    """

    images: bytes
    labels: bytes
    source: str


def digits(machine: Machine, path: str | None = None, python: str | None = None) -> Digits:
    """The digits of the training step. Nothing is downloaded, and nothing is unpickled.

    Args:
        machine: on which the real ones may lie.
        path: a folder or a file that the user names; None: what GPUDOCTOR_MNIST names. Without either the real MNIST
            is looked for in the usual places, and the shipped digits are taken where it is not found, or another data
            set under its names.
        python: the examined interpreter, which reads Parquet and Arrow files if it has pyarrow.

    Raises:
        DigitsError: what the user named cannot be used, or the shipped file is damaged.
    """
    named = path or machine.env.get(VARIABLE)
    if named:
        return _of(_given(machine, mnist_places.absolute(machine, named), python))
    for place in mnist_places.usual(machine):
        try:
            return _of(_read(machine, place, True, python))
        except DigitsError:
            continue
    return shipped()


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


def _of(sample: DigitSample) -> Digits:
    return Digits(sample.images, sample.labels, sample.source)


def _given(machine: Machine, path: str, python: str | None) -> DigitSample:
    """The digits in what the user names: the first of a folder's files that can be used."""
    status = machine.status(path)
    if status is None:
        raise DigitsError(f"{path} does not exist or cannot be reached.")
    if not status.is_dir:
        return _read(machine, mnist_places.of_file(path, _beginning(machine, path)), False, python)
    first: DigitsError | None = None
    for place in mnist_places.below(machine, path):
        try:
            return _read(machine, place, False, python)
        except DigitsError as error:
            first = first or error
    raise first or DigitsError(f"{path} holds none of the files in which MNIST comes.")


def _beginning(machine: Machine, path: str) -> bytes:
    try:
        return machine.data(path, LIMIT)[:8]
    except OSError as error:
        raise DigitsError(f"{path}: {error.strerror}.") from None


def _read(machine: Machine, place: DigitsFile, sure: bool, python: str | None) -> DigitSample:
    """Read a file by its format; all that can be wrong with it is one kind of error."""
    try:
        if place.format in ("parquet", "arrow"):
            return mnist_arrow.read(machine, place.path, sure, python)
        return READERS[place.format](machine, place.path, sure)
    except OSError as error:
        raise DigitsError(f"{error.filename or place.path}: {error.strerror}.") from None
    except ValueError as reason:
        raise DigitsError(f"{place.path}: {reason}.") from None
