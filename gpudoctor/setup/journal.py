"""What was changed on this machine, line by line: a file of JSON lines that its user alone can read."""

import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Literal

import msgspec

from gpudoctor.setup.installed_packages import Installed
from gpudoctor.tasks import Tasks

LIMIT = 8 << 20
_TOO_LARGE = f"it is larger than {LIMIT >> 20} MiB: move it away"

Event = Literal["begin", "file", "edit", "packages", "command", "step", "end", "undone", "left"]


class JournalError(OSError):
    """The journal cannot be written or read; the message is a sentence."""


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line.

    Attributes:
        at: when, ISO 8601, UTC.
        run: what belongs together.
        event: begin and end of a run; a file that was written; an edit of a file, and packages: what was there
            before; a command that has ended; undone: all of a run; left: a run that nothing takes back, which was
            told.
        what: of begin: "setup", "fix ID", "undo"; of undone and left: that run.
        step: the step's id.
        argv: the command's words.
        code: its exit code.
        seconds: how long it took.
        path: of a file, or of an environment's interpreter; of begin: the directory where it was started.
        undo: what takes the step back, besides what is restored out of edits and packages.
        before: of an edit: what was in the file; None: there was none.
        root: of an edit: whether root alone may write there.
        installer: of packages: pip or uv.
        options: of packages: options without which the installer refuses.
        installed: of packages: what was installed.
        outcome: of end: done, failed.
    """

    at: str = ""
    run: str
    event: Event
    what: str = ""
    step: str = ""
    argv: tuple[str, ...] = ()
    code: int | None = None
    seconds: float | None = None
    path: str = ""
    undo: Tasks = ()
    before: bytes | None = None
    root: bool = False
    installer: str = ""
    options: tuple[str, ...] = ()
    installed: tuple[Installed, ...] = ()
    outcome: str = ""


def place(env: Mapping[str, str]) -> str:
    """The journal's path; relative values of XDG_STATE_HOME do not count (XDG Base Directory Specification)."""
    state = env.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "gpudoctor", "journal")


def directory() -> str:
    """The working directory; empty where it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


class Journal:
    """The journal of this user."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.run = f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{os.getpid()}-{time.monotonic_ns() % 10_000}"

    def write(self, event: Event, **what: object) -> None:
        """Add a line.

        Raises:
            JournalError: it cannot be written.
        """
        at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        entry = JournalEntry(at=at, run=self.run, event=event, **what)  # type: ignore[arg-type]
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                self._must_be_ours(fd)
                line = self._before(fd) + msgspec.json.encode(entry) + b"\n"
                if os.write(fd, line) != len(line):  # what is cut is left out by who reads, and undoes nothing
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(fd)
        except OSError as error:
            why = (error.strerror or str(error)).rstrip(".")
            raise JournalError(f"The journal {self.path} cannot be written: {why}.") from None

    def _must_be_ours(self, fd: int) -> None:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise OSError("it does not belong to this user")
        if found.st_mode & 0o077:
            os.fchmod(fd, 0o600)

    def _before(self, fd: int) -> bytes:
        """What ends the line that a full disk or a kill has cut: else ours would be lost with it."""
        size = os.fstat(fd).st_size
        if size > LIMIT:
            raise OSError(_TOO_LARGE)
        return b"\n" if size and os.pread(fd, 1, size - 1) != b"\n" else b""

    def entries(self) -> Iterator[JournalEntry]:
        """All lines, oldest first; those that are none of ours are left out.

        Raises:
            JournalError: it cannot be read, is too large, or another user could have written it.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return
        except OSError as error:
            raise JournalError(f"The journal {self.path} cannot be read: {error.strerror or error}.") from None
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise JournalError(f"The journal {self.path} could have been written by another user: it is not used.")
            if found.st_size > LIMIT:  # what came last would be missed, and an older run taken back in its place
                raise JournalError(f"The journal {self.path} cannot be read: {_TOO_LARGE}.")
            for line in file.read().splitlines():
                try:
                    yield msgspec.json.decode(line, type=JournalEntry)
                except (msgspec.MsgspecError, ValueError, RecursionError):
                    continue

    def last(self) -> tuple[str, str, tuple[JournalEntry, ...]] | None:
        """The last run that began a step and was not taken back: its id, what it was, its lines; or None."""
        runs: dict[str, list[JournalEntry]] = {}
        for entry in self.entries():
            if entry.event in ("undone", "left"):
                runs.pop(entry.what, None)
            else:
                runs.setdefault(entry.run, []).append(entry)
        for run, lines in reversed(runs.items()):
            what = next((e.what for e in lines if e.event == "begin"), "")
            if what != "undo" and any(e.event == "step" for e in lines):
                return run, what, tuple(lines)
        return None
