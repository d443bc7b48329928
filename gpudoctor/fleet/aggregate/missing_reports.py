"""Nodes without a verdict: what a run's ledger reports of them, unreadable files, and reports that are incomplete."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence

import msgspec

from gpudoctor.fleet.aggregate.report_sources import SourceError
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.runner.ledger import STATES as LEDGER
from gpudoctor.fleet.runner.ledger import LedgerEntry
from gpudoctor.fleet.summary import STATES, Missing

UNREADABLE = "unreadable"
# Reasons that are told apart; a fleet has some dozens.
MOST = 500
_NUMBERED = re.compile("[0-9]")
_entry = msgspec.json.Decoder(LedgerEntry).decode


class MissingReports:
    """Nodes that have no verdict, by state and reason."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], list[str]] = {}
        self._own: dict[tuple[str, str], str] = {}  # the words of the first

    def add(self, node: str, state: str, why: str) -> None:
        """Note one; reasons that differ in the node's name only are one."""
        why = why[:500]
        key = state, _unnamed(why, node) if state != UNREADABLE and node in why else why
        if key not in self._nodes and len(self._nodes) >= MOST:
            key = state, "There are more reasons than can be listed."
        self._own.setdefault(key, why)
        self._nodes.setdefault(key, []).append(node)

    def names(self) -> set[str]:
        """All of them."""
        return {node for nodes in self._nodes.values() for node in nodes}

    def of(self, state: str) -> list[str]:
        """The nodes in a state."""
        return [node for (one, _), nodes in self._nodes.items() if one == state for node in nodes]

    def entries(self) -> tuple[Missing, ...]:
        """Each reason, worst state first, then those of most nodes."""
        found = [
            Missing(state=key[0], why=key[1] if len(nodes) > 1 else self._own[key], nodes=fold(nodes), count=len(nodes))
            for key, nodes in self._nodes.items()
        ]
        return in_order(found)


def in_order(found: Iterable[Missing]) -> tuple[Missing, ...]:
    """Reasons, worst state first, then those of most nodes."""
    return tuple(sorted(found, key=lambda one: (STATES.index(one.state), -one.count, one.why)))


def _unnamed(why: str, node: str) -> str:
    """A reason without the node's name, where it stands as a word; of names without a number there are few."""
    if not _NUMBERED.search(node):
        return why
    return re.sub(rf"(?<![\w-]){re.escape(node)}(?![\w-])", "NODE", why)


class _Open(msgspec.Struct, gc=False):
    check: str = ""
    reason: str = ""
    essential: bool = False
    broken: bool = False


_open = msgspec.json.Decoder(list[_Open]).decode


def why_incomplete(unknown: bytes) -> str:
    """Why a report gives no verdict: the first question that it had to answer and could not.

    Args:
        unknown: the report's own list, as JSON.
    """
    try:
        found = [one for one in _open(unknown) if one.essential or one.broken]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found = []
    if not found:
        return "No check had anything to check on it."
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0].check}: {found[0].reason.rstrip('.')}{more}."


def asked(
    absent: MissingReports, names: Iterable[str], ledgers: Sequence[str], only: Container[str] | None = None
) -> None:
    """Note the nodes that were asked and of which there is nothing.

    Args:
        absent: where they are noted; nodes that it holds already are there with what could not be read.
        names: of the nodes whose reports are there.
        ledgers: paths of the runs' ledgers.
        only: names of the nodes that count; None: all.

    Raises:
        SourceError: a ledger cannot be read.
    """
    known = absent.names().union(names) if ledgers else set()
    for path in ledgers:
        try:
            for node, state, why in of_ledger(path, known):
                known.add(node)
                if only is None or node in only:
                    absent.add(node, state, why)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from None


def of_ledger(path: str, reported: Container[str]) -> Iterator[tuple[str, str, str]]:
    """Node, state and reason of the nodes of a ledger that did not report; lines that are none are passed over.

    Args:
        path: of the ledger.
        reported: the nodes of which there is something.

    Raises:
        OSError: it cannot be read.
    """
    last: dict[str, tuple[str, str]] = {}
    with open(path, "rb") as file:
        for line in file:
            try:
                entry = _entry(line)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue  # cut short when the run was ended
            if entry.node not in reported and entry.state in LEDGER:
                last[entry.node] = entry.state, entry.why
    for node, (state, why) in last.items():
        if state == "reported":
            state, why = "failed", "The ledger lists its report as received, but the file is missing."
        yield node, state, why
