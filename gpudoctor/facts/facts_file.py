"""Facts files: written whole or not at all, read strictly."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import msgspec

from gpudoctor.facts.tree import SCHEMA, Facts
from gpudoctor.process_cleanup import undone

# A host with 8 GPUs and 500 packages gives 300 kB; a hundred times that is no facts file.
LIMIT = 32 << 20


class FactsFileError(ValueError):
    """The file is no facts file; the message is one sentence."""


def read(path: str) -> Facts:
    """Read a facts file; "-" is standard input.

    Raises:
        FactsFileError: it cannot be read, is too large, or is not what it should be.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LIMIT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LIMIT + 1)
    except OSError as error:
        raise FactsFileError(f"The facts file {path} cannot be read: {error.strerror or error}.") from None
    if len(data) > LIMIT:
        raise FactsFileError(f"The facts file {path} is larger than {LIMIT >> 20} MiB.")
    return load(data, path)


class _FactsVersion(msgspec.Struct):
    schema: str = ""


def load(data: bytes, name: str = "given") -> Facts:
    """Facts from JSON.

    Raises:
        FactsFileError: the text is no JSON, no facts, or of another schema.
    """
    try:
        schema = msgspec.json.decode(data, type=_FactsVersion).schema
        if schema != SCHEMA:
            raise FactsFileError(f"The facts file {name} has the schema {schema[:60]!r}; this version reads {SCHEMA}.")
        return msgspec.json.decode(data, type=Facts)
    except FactsFileError:
        raise
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FactsFileError(f"The facts file {name} is not valid: {str(error)[:200]}.") from None


def write(path: str, data: bytes, mode: int = 0o666) -> None:
    """Write a file whole or not at all; what is no file (a pipe, /dev/null) is written to as it is.

    Args:
        path: a link there is replaced, and not followed.
        data: all of it.
        mode: permissions of the file, less those that the umask takes away.

    Raises:
        OSError: it cannot be written; nothing is left behind then.
    """
    with whole(path, mode) as file:
        file.write(data)


@contextmanager
def whole(path: str, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file beside the one that is wanted, which takes its place when all is written; as `write`, piece by piece.

    Raises:
        OSError: it cannot be written; nothing is left behind then, nor after any other exception.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as stream:
            yield stream
        return
    # A name that was never there: in containers the numbers of processes that were killed come again.
    part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part"
    # never through a link that somebody has laid; Windows would change the ends of lines
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with undone(lambda: os.open(part, flags, mode), lambda _: _remove(part)) as begun:
        with os.fdopen(begun, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)


def _remove(part: str) -> None:
    with suppress(FileNotFoundError):  # it has taken its place
        os.unlink(part)
