"""The ledger of a run: what became of every node. Lines are only ever added; the last one of a node counts."""

import errno
import os
from collections import Counter
from datetime import datetime, timezone

import msgspec

# What may become of a node, worst knowledge last:
STATES = (
    "reported",  # its report is here, whole
    "failed",  # it was asked, and ended without a report
    "timed out",  # it began and did not end within its limit
    "unreachable",  # it never began: no route, no answer, down in mid-run
    "refused",  # it answered and would not: wrong key, no permission
    "not asked",  # nobody asked it: down before, or the run was ended first
)


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the ledger."""

    node: str
    state: str
    why: str = ""
    at: str = ""  # ISO 8601, UTC
    seconds: float | None = None  # from its first line; None: it said nothing
    gpus: int | None = None  # that its engine lists for it (Slurm's GRES); None: the engine does not say


class LedgerError(Exception):
    """The ledger cannot be read or written; the message is one sentence."""


class Ledger:
    """The file, and what stands in it.

    Args:
        path: of the file; what stands there already is taken over, but for a last line that was cut.

    Raises:
        LedgerError: it cannot be read or written, or is no ledger.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries, whole = _read(path)
        try:
            self._file = open(path, "ab", buffering=0, opener=_opened)  # noqa: SIM115 - each line is told at once
            if whole is not None:
                self._file.truncate(whole)
            self._length = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise LedgerError(f"{path} cannot be written: {error.strerror or error}.") from None

    def note(
        self, node: str, state: str, why: str = "", seconds: float | None = None, gpus: int | None = None
    ) -> LedgerEntry:
        """Write what became of a node; what could not be written whole is not there at all.

        Raises:
            LedgerError: it cannot be written (the disk is full).
        """
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        entry = LedgerEntry(node=node, state=state, why=_text(why), at=at, seconds=seconds, gpus=gpus)
        line = msgspec.json.encode(entry) + b"\n"
        try:
            written = self._file.write(line)
            if written != len(line):
                self._file.truncate(self._length)  # else the next line would be added to half of this one
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be written: {error.strerror or error}.") from None
        self._length += written
        self.entries[node] = entry
        return entry

    def counts(self) -> dict[str, int]:
        """How many nodes are in each state, in the order of STATES."""
        found = Counter(entry.state for entry in self.entries.values())
        return {state: found[state] for state in STATES if found[state]}

    def close(self) -> None:
        """Close the file; what was noted is there already."""
        self._file.close()


def read(path: str) -> dict[str, LedgerEntry]:
    """What became of each node by a ledger, which a run may be writing at this moment; none: there is no such file.

    Raises:
        LedgerError: it cannot be read, or is no ledger.
    """
    return _read(path)[0]


def _read(path: str) -> tuple[dict[str, LedgerEntry], int | None]:
    """What stands there, and the length to cut to where the last line was cut short."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror or error}.") from None
    entries = {}
    end = data.rfind(b"\n") + 1
    for number, line in enumerate(data[:end].split(b"\n")[:-1], 1):
        entry = _entry(line)
        if entry is None:
            raise LedgerError(f"{path} is not a ledger: line {number} does not belong in one.")
        entries[entry.node] = entry
    return entries, end if end < len(data) else None


def _entry(line: bytes) -> LedgerEntry | None:
    try:
        entry = msgspec.json.decode(line, type=LedgerEntry)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return entry if entry.state in STATES else None


def _opened(path: str, flags: int) -> int:
    """Through no link that somebody has laid."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _text(reported: str) -> str:
    """A launcher's words, whatever bytes they hold."""
    return reported.encode("utf-8", "backslashreplace").decode()
