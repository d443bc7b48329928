"""The ledger of a run: what became of every node. Lines are only ever added; the last one of a node counts."""

import os
from collections import Counter
from datetime import UTC, datetime

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


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the ledger."""

    node: str
    state: str
    why: str = ""
    at: str = ""  # ISO 8601, UTC
    seconds: float | None = None  # from the moment it was asked


class LedgerError(Exception):
    """The ledger cannot be read or written; the message is one sentence."""


class Ledger:
    """The file, and what stands in it.

    Args:
        path: of the file; what stands there already is taken over, but for a last line that was cut.

    Raises:
        LedgerError: it cannot be read, or is no ledger.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.entries: dict[str, Entry] = {}
        whole = self._read()
        try:
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # open for the ledger's life: each line is told at once
            if whole is not None:
                self._file.truncate(whole)
        except OSError as error:
            raise LedgerError(f"{path} cannot be written: {error.strerror}.") from None

    def note(self, node: str, state: str, why: str = "", seconds: float | None = None) -> Entry:
        """Write what became of a node.

        Raises:
            LedgerError: it cannot be written (the disk is full).
        """
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        entry = Entry(node=node, state=state, why=why, at=at, seconds=seconds)
        line = msgspec.json.encode(entry) + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise LedgerError(f"{self.path} cannot be written: no space is left.")
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be written: {error.strerror}.") from None
        self.entries[node] = entry
        return entry

    def counts(self) -> dict[str, int]:
        """How many nodes are in each state, in the order of STATES."""
        found = Counter(entry.state for entry in self.entries.values())
        return {state: found[state] for state in STATES if found[state]}

    def close(self) -> None:
        """Close the file; what was noted is there already."""
        self._file.close()

    def _read(self) -> int | None:
        """Take over what stands there; gives the length to cut to where the last line was cut short."""
        if not os.path.exists(self.path):
            return None
        try:
            with open(self.path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be read: {error.strerror}.") from None
        end = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:end].splitlines(), 1):
            try:
                entry = msgspec.json.decode(line, type=Entry)
            except msgspec.MsgspecError:
                raise LedgerError(f"{self.path} is no ledger: line {number} is none of its lines.") from None
            self.entries[entry.node] = entry
        return end if end < len(data) else None
