"""Reads a file that tells what to expect, unless somebody else could have written it."""

import os
import stat

from gpudoctor.expect import ExpectFileError

LIMIT = 256 << 10  # bytes; an expectation takes some hundred
_CAREFULLY = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)  # as far as there
_LINES = 4 << 20  # bytes of /etc/passwd and /etc/group that are read


def read(path: str) -> str:
    """The file's text.

    Raises:
        ExpectFileError: it cannot be read, is no text, is too large, or somebody else may write to it.
    """
    try:
        # A pipe or a device in its place must not hold us up: so without blocking, and looked at before it is read.
        number = os.open(path, os.O_RDONLY | _CAREFULLY)
        with open(number, "rb") as file:
            _hold(path, number)
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise ExpectFileError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > LIMIT:
        raise ExpectFileError(f"{path} is larger than {LIMIT >> 10} KiB.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ExpectFileError(f"{path} is not valid UTF-8.") from None


def _hold(path: str, number: int) -> None:
    """Hold that only this user or root could have written the file, or put another in its place."""
    opened = os.fstat(number)
    if not stat.S_ISREG(opened.st_mode):
        raise ExpectFileError(f"{path} is not a file.")
    if os.name != "posix":
        return
    if why := distrusted(opened, has_acl(number)):
        closes = "" if "belongs" in why else f" Fix: `chmod go-w {path}`."
        raise ExpectFileError(f"{path} is not used, because {why}.{closes}")
    for folder in folders(path):
        if why := distrusted(os.stat(folder), has_acl(folder)):
            raise ExpectFileError(
                f"{path} is not used, because others can replace it in its directory {folder}: {why}."
            )


def folders(path: str) -> list[str]:
    """Every folder above a file, and above what it leads to where it is a link."""
    found: dict[str, None] = {}
    for start in (os.path.realpath(os.path.dirname(os.path.abspath(path))), os.path.dirname(os.path.realpath(path))):
        folder = start
        while folder not in found:
            found[folder] = None
            folder = os.path.dirname(folder)
    return list(found)


def has_acl(entry: str | int) -> bool:
    """Whether a file or folder has an access control list: then the group's bits are those of all whom it names."""
    try:
        return bool(os.getxattr(entry, "system.posix_acl_access"))
    except (OSError, AttributeError):  # none, or a file system or a system that knows no such lists
        return False


def distrusted(entry: os.stat_result, acl: bool = False) -> str:
    """Why somebody else could have changed a file or a folder; empty where nobody could.

    In a folder with the sticky bit, such as /tmp, others may add files but neither remove nor replace ours.

    Args:
        entry: the file or folder.
        acl: whether it has an access control list (acl(5): the group's bits are the mask of its entries).
    """
    if entry.st_uid not in (0, os.geteuid()):
        return f"it belongs to another user (UID {entry.st_uid})"
    sticky = stat.S_ISDIR(entry.st_mode) and entry.st_mode & stat.S_ISVTX
    if sticky or not entry.st_mode & 0o022:
        return ""
    if entry.st_mode & 0o002 or acl or not _own_group(entry.st_uid, entry.st_gid):
        return f"others can write to it (mode {stat.S_IMODE(entry.st_mode):04o})"
    return ""


def _own_group(uid: int, gid: int) -> bool:
    """Whether a group is the user's private one, as most distributions make them: then its members are nobody else.

    Read from the files, because asking for accounts may go over the network; accounts that are not there have none.
    """
    owners = {row[2] for row in _rows("/etc/passwd") if len(row) > 3 and row[3] == str(gid)}
    names = {row[0] for row in _rows("/etc/passwd") if len(row) > 3 and row[2] == str(uid)}
    groups = [row for row in _rows("/etc/group") if len(row) > 3 and row[2] == str(gid)]
    members = {name for row in groups for name in row[3].split(",") if name}
    return owners == {str(uid)} and len(groups) == 1 and members <= names


def _rows(path: str) -> list[list[str]]:
    try:
        with open(path, "rb") as file:
            lines = file.read(_LINES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.split(":") for line in lines]
