"""What somebody means who asks for a code: the message in which a program would have written it."""

import re
from collections.abc import Iterable

from gpudoctor.knowledge.errors import cuda_error, cuda_error_named, nvml_error, sxid, xid

# The first code that a shell gives to a program that a signal ended, or that it could not run (POSIX: 128 and more).
_SHELL = 126
_CODE = re.compile(
    r"(?:(xid|sxid|cuda|cuda error|error|nvml|nvml error|exit|exit code|signal)[ :#]*)?(-?\d{1,6})", re.I
)
_KINDS = {"cuda error": "cuda", "error": "cuda", "nvml error": "nvml", "exit code": "exit"}


def messages(text: str) -> tuple[str, ...]:
    """The messages that a code can stand for: "803", "Xid 79", "CUDA_ERROR_NO_DEVICE", "exit 137"; () if it is none.

    A number without a word is looked for in every table.
    """
    text = text.strip()
    if text.upper().startswith("CUDA_ERROR_"):
        named = cuda_error_named(text.upper())
        return (_cuda(named.code),) if named else ()
    match = _CODE.fullmatch(text)
    if match is None:
        return ()
    word, number = (match[1] or "").lower(), int(match[2])
    return tuple(_readings(_KINDS.get(word, word), number))


def _readings(kind: str, number: int) -> Iterable[str]:
    if kind in ("", "cuda") and cuda_error(number):
        yield _cuda(number)
    if kind == "xid" or (not kind and xid(number)):
        yield f"Xid {number}"
    if kind == "sxid" or (not kind and sxid(number)):
        yield f"SXid {number}"
    if kind == "nvml" and (known := nvml_error(number)):
        yield f"{known.name}: {known.meaning}"
    if kind == "exit" or (not kind and _SHELL <= number < 256):
        yield f"exit code {number}"
    if kind == "signal":
        yield f"exit code {128 + number}"


def _cuda(number: int) -> str:
    known = cuda_error(number)
    return f"CUDA error {number}: {known.name}: {known.meaning}" if known else f"CUDA error {number}"
