"""The directory of a run: what was asked, the ledger, the reports; and that only one run writes to it at a time."""

import os
from collections.abc import Iterable
from datetime import datetime, timezone

import msgspec

from gpudoctor.facts.facts_file import write
from gpudoctor.fleet.runner import report_store
from gpudoctor.fleet.runner.engine import FleetTarget
from gpudoctor.fleet.runner.ledger import Ledger

SCHEMA = "gpudoctor.fleet-run/1"
RUN, LEDGER, REPORTS, EARLIER, SUMMARY, LOCK = "run.json", "ledger.jsonl", "reports", "earlier", "summary.json", "lock"

_PART = ".part"  # how facts.file.write ends the name of what is not whole yet


class FolderError(Exception):
    """The directory cannot be used; the message is one sentence."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked (`run.json`).

    Attributes:
        version: of gpudoctor that asked.
        engine: its name.
        options: of the engine, as they were typed.
        nodes: the node set that was asked for; empty: all that the engine knows.
        command: what ran on each node.
        seconds: the limit of one node.
        fan: how many nodes at once.
        started: ISO 8601, UTC, of each time that the run was begun or gone on with.
    """

    schema: str = SCHEMA
    version: str = ""
    engine: str
    options: dict[str, tuple[str, ...]] = {}
    nodes: str = ""
    command: tuple[str, ...] = ()
    seconds: float = 0.0
    fan: int = 0
    started: tuple[str, ...] = ()


class RunDirectory:
    """An opened directory; close it at the end.

    Args:
        path: made where it is not there.
        run: what is asked now.

    Raises:
        FolderError: it holds something else, another run writes to it, or it cannot be written.
        LedgerError: its ledger is none.
    """

    def __init__(self, path: str, run: Run) -> None:
        self.path = path
        self.reports = os.path.join(path, REPORTS)
        self._earlier = os.path.join(path, EARLIER)
        try:
            os.makedirs(path, exist_ok=True)
            _must_be_ours(path)
            self._lock = _locked(path)
        except OSError as error:
            raise FolderError(f"{path} cannot be used: {error.strerror or error}.") from None
        try:
            self.run = self._begin(run)
            self.ledger = Ledger(os.path.join(path, LEDGER))
        except OSError as error:
            os.close(self._lock)
            raise FolderError(f"{error.filename or path} cannot be written: {error.strerror or error}.") from None
        except Exception:
            os.close(self._lock)
            raise

    def _begin(self, run: Run) -> Run:
        """Note what is asked, and take away what an interrupted run left in pieces."""
        before = read(self.path)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        run = msgspec.structs.replace(run, started=(*(before.started if before else ()), now))
        # First of all: it is what shows that the directory is of a run.
        write(os.path.join(self.path, RUN), msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n")
        os.makedirs(self.reports, exist_ok=True)
        for folder in (self.path, self.reports):
            for name in os.listdir(folder):
                if name.endswith(_PART):
                    os.unlink(os.path.join(folder, name))
        return run

    def waiting(self, targets: Iterable[FleetTarget], again: bool = False) -> list[FleetTarget]:
        """The nodes that are still to be asked, each once; the ledger learns of reports that it does not know of.

        Args:
            targets: all nodes that are to be checked.
            again: whether those that have reported are asked once more; their reports are kept in a directory next to.

        Raises:
            FolderError: a report cannot be put aside.
            LedgerError: the ledger cannot be written.
        """
        left = []
        for target in {one.node: one for one in targets}.values():
            if not again and report_store.landed(self.reports, target.node):
                self._know(target.node)
                continue
            self._put_aside(target.node)
            left.append(target)
        return left

    def _know(self, node: str) -> None:
        """A run that was killed between a report and its line in the ledger has told nobody."""
        known = self.ledger.entries.get(node)
        if known is None or known.state != "reported":
            self.ledger.note(node, "reported")

    def _put_aside(self, node: str) -> None:
        """Whatever is there of a node that is asked now, a broken report too, is of an earlier time."""
        name = report_store.file_name(node)
        if not os.path.lexists(os.path.join(self.reports, name)):
            return
        try:
            os.makedirs(self._earlier, exist_ok=True)
            os.replace(os.path.join(self.reports, name), os.path.join(self._earlier, name))
        except OSError as error:
            raise FolderError(f"{self._earlier} cannot be written: {error.strerror or error}.") from None

    def close(self) -> None:
        """Close the ledger, and let others write."""
        self.ledger.close()
        os.close(self._lock)


def read(path: str) -> Run | None:
    """What was asked in a directory; None where nothing was.

    Raises:
        FolderError: its run.json is none of ours.
    """
    file = os.path.join(path, RUN)
    try:
        with open(file, "rb") as opened:
            run = msgspec.json.decode(opened.read(), type=Run)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FolderError(f"{file} cannot be read: {error.strerror or error}.") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise FolderError(f"{file} does not belong to a fleet run: choose another directory.") from None
    if run.schema != SCHEMA:
        raise FolderError(f"{file} has the schema {run.schema[:60]!r}; this version reads {SCHEMA}.")
    return run


def _must_be_ours(path: str) -> None:
    """Hold that the directory is of a run, or empty.

    Raises:
        FolderError: it is not.
    """
    others = [name for name in os.listdir(path) if name != LOCK and not name.startswith(RUN + ".")]
    if others and RUN not in others:
        raise FolderError(
            f"{path} contains other files, such as {min(others)}: choose a new directory, or that of a fleet run."
        )


def _locked(path: str) -> int:
    """The directory's lock, which the kernel takes back however we end.

    Raises:
        FolderError: another run has it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        raise FolderError("`gpudoctor fleet run` works on Linux and macOS only.") from None
    number = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise FolderError(f"Another run is writing to {path}.") from None
    except OSError:
        os.close(number)
        raise
    return number
