"""Writes a file that somebody named; whatever prevents that becomes one sentence."""

from __future__ import annotations

import errno
import os
import stat

from gpudoctor.facts.facts_file import write


class NotSavedError(Exception):
    """The file was not written; the message is one sentence."""


def resolved(name: str) -> str:
    """The path that a name means.

    Raises:
        NotSavedError: it names no file that could be written.
    """
    if not name.strip():
        raise NotSavedError("Enter a file name.")
    if "\0" in name:
        raise NotSavedError("A file name cannot contain a null character.")
    path = os.path.realpath(os.path.expanduser(name.strip()))
    folder = os.path.dirname(path)
    if os.path.isdir(path) or name.strip().endswith("/"):
        raise NotSavedError(f"{name.strip()} is a directory: add a file name.")
    if not os.path.isdir(folder):
        raise NotSavedError(f"No such directory: {folder}.")
    return path


def taken(path: str) -> bool:
    """Whether a file is there already.

    Raises:
        NotSavedError: what is there is none that may be written over.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise NotSavedError(f"{path} cannot be looked at: {_why(error)}.") from None
    if not stat.S_ISREG(mode):
        raise NotSavedError(f"{path} is no ordinary file.")
    if not os.access(path, os.W_OK):
        raise NotSavedError(f"{path} is read-only.")
    return True


def save(path: str, text: str) -> int:
    """Write the whole file or nothing; gives its size in bytes.

    Raises:
        NotSavedError: it cannot be written; what was there before is still there.
    """
    data = text.encode()
    try:
        write(path, data)
    except OSError as error:
        raise NotSavedError(f"{path} cannot be written: {_why(error)}.") from None
    return len(data)


def _why(error: OSError) -> str:
    """The kernel's words, in clearer ones where people meet them often."""
    clearer = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "disk quota exceeded",
        errno.EROFS: "read-only file system",
        errno.EACCES: "permission denied",
        errno.ENAMETOOLONG: "file name too long",
    }
    return clearer.get(error.errno or 0) or error.strerror or str(error)
