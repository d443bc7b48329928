"""Reads digits from what Hugging Face keeps, Parquet or Arrow, in a child with the pyarrow of the examined Python."""

import base64

import msgspec

from gpudoctor import workers
from gpudoctor.child import ChildResult
from gpudoctor.knowledge.mnist import are_labels
from gpudoctor.machine import Machine
from gpudoctor.smoketests.mnist_png import decode
from gpudoctor.smoketests.mnist_sample import COUNT, UNKNOWN, DigitSample, checked

SCRIPT = workers.script("read_digits.py")
SECONDS = 20.0  # pyarrow is imported within one, and from a cold disk within five


class ArrowDigits(msgspec.Struct, frozen=True):
    """What gpudoctor/workers/read_digits.py prints."""

    error: str = ""
    images: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()
    sum: str = ""


def read(machine: Machine, path: str, sure: bool, python: str | None) -> DigitSample:
    """Read the first digits.

    Args:
        machine: where the file lies.
        path: of the file.
        sure: only MNIST will do: the labels are its, in its order.
        python: the interpreter that may have pyarrow; None: there is none.

    Raises:
        ValueError: it holds no digits, or nobody can read it; says why.
    """
    if python is None:
        raise ValueError("it takes a Python with pyarrow, and none is examined")
    told = _told(machine.run([python, SCRIPT, path, str(COUNT)], SECONDS))
    known = are_labels(told.sum)
    if sure and not known:
        raise ValueError(told.error or UNKNOWN)
    if told.error:
        raise ValueError(told.error)
    images = b"".join(decode(base64.b64decode(image)) for image in told.images)
    kind = "a Parquet" if path.endswith(".parquet") else "an Arrow"
    source = "MNIST (Hugging Face's file, labels verified)" if known else f"digits of {kind} file, unverified"
    return DigitSample(*checked(images, bytes(told.labels)), source)


def _told(ended: ChildResult) -> ArrowDigits:
    lines = ended.out.splitlines()
    try:
        return msgspec.json.decode(lines[-1] if lines else "", type=ArrowDigits)
    except (msgspec.DecodeError, RecursionError):
        why = ended.missing or ("it did not answer" if ended.timed_out else _last(ended))
        return ArrowDigits(error=f"the Python that should read it failed ({why})")


def _last(ended: ChildResult) -> str:
    lines = [line for line in ended.err.splitlines() if line.strip()]
    return ended.signal or (lines[-1] if lines else f"exit code {ended.code}")
