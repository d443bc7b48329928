"""All reports under some paths, one after the other, each node once."""

import os
import stat
from collections.abc import Container, Iterator, Sequence
from functools import cached_property

import msgspec

from gpudoctor.fleet.aggregate.inputs import (
    ENDINGS,
    ReportDirectory,
    ReportFile,
    ReportLines,
    ReportSource,
    Sent,
    Wanted,
)
from gpudoctor.fleet.aggregate.report_header import moment
from gpudoctor.fleet.runner.report_store import node_name
from gpudoctor.fleet.runner.run_directory import LEDGER, REPORTS, RUN

__all__ = ["Sent", "SourceError", "Sources"]


class SourceError(Exception):
    """What was named holds no reports; the message is one sentence."""


class Sources:
    """All reports under some paths, each node once: of several reports the one that was made last counts.

    Args:
        paths: directories of NODE.json or RACK/NODE.json (also that of a run, which holds reports/), single reports,
            files of lines.
        ordered: whether the reports of a directory come in the order of their nodes' names.

    Raises:
        SourceError: one does not exist, cannot be read, or none of them holds a report.
    """

    def __init__(self, paths: Sequence[str], ordered: bool = False) -> None:
        self._ordered = ordered
        self._sources: list[ReportSource] = []
        self.ledgers: list[str] = []
        self.doubles = 0
        for path in paths:
            self._add(path)
        if not self.ledgers and not any(True for source in self._sources for _ in _named(source)):
            raise SourceError(
                f"{' and '.join(paths)} {'contain' if len(paths) > 1 else 'contains'} no report (NODE.json)."
            )

    def __iter__(self) -> Iterator[Sent]:
        """The reports, one after the other; nothing of those before is kept.

        Raises:
            SourceError: a directory or a file of lines cannot be read to its end.
        """
        older = self._older
        for at, source in enumerate(self._sources):
            yield from _sent(source, _all_but(older[at]) if at in older else None)

    def names(self) -> Iterator[str]:
        """The nodes, one that has several reports as often.

        Raises:
            SourceError: a directory or a file of lines cannot be read to its end.
        """
        return (name for source in self._sources for _, name in _named(source))

    def some(self, nodes: Container[str]) -> Iterator[Sent]:
        """The newest reports of some nodes.

        Raises:
            SourceError: a directory or a file of lines cannot be read to its end.
        """
        older = self._older
        for at, source in enumerate(self._sources):
            yield from _sent(source, _of(nodes, older.get(at, set())))

    def of(self, node: str) -> Sent | None:
        """The report of one node, the newest that can be read; None: there is none.

        Raises:
            SourceError: a directory or a file of lines cannot be read.
        """
        found: list[Sent] = []
        for source in self._sources:
            found += _sent(source, lambda _, name: name == node)
        return max(reversed(found), key=lambda sent: _created(sent.data)) if found else None

    def _add(self, path: str) -> None:
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError) as error:
            raise SourceError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
        if stat.S_ISDIR(mode):
            self._add_folder(path)
        elif not stat.S_ISREG(mode):
            raise SourceError(f"{path} is neither a directory nor a file.")
        else:
            self._sources.append(ReportLines(path) if path.endswith(ENDINGS) else ReportFile(path))

    def _add_folder(self, path: str) -> None:
        """A run's directory has its reports in one below, and next to it what is about the run."""
        reports = os.path.join(path, REPORTS)
        run = os.path.dirname(os.path.abspath(path)) if os.path.basename(os.path.abspath(path)) == REPORTS else path
        of_a_run = any(os.path.isfile(os.path.join(run, name)) for name in (LEDGER, RUN))
        named = node_name if of_a_run else str
        if os.path.isfile(ledger := os.path.join(run, LEDGER)):
            self.ledgers.append(ledger)
        if not of_a_run or run != path:
            own = ReportDirectory(path, named, self._ordered)
            self._sources.append(own)
            if not of_a_run and not os.path.isdir(reports) and not any(True for _ in _named(own)):
                self._add_racks(path)
        if os.path.isdir(reports):
            self._sources.append(ReportDirectory(reports, named, self._ordered))

    def _add_racks(self, path: str) -> None:
        """A directory without reports of its own, but with directories of reports: RACK/NODE.json."""
        try:
            with os.scandir(path) as found:
                below = sorted(one.path for one in found if one.is_dir() and not one.name.startswith("."))
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror or error}.") from None
        racks = [ReportDirectory(one, str, self._ordered) for one in below]
        self._sources += [rack for rack in racks if any(True for _ in _named(rack))]

    @cached_property
    def _older(self) -> dict[int, set[tuple[int, str]]]:
        """By source, the reports that do not count because there is a newer one of the same node."""
        if len(self._sources) == 1 and not isinstance(self._sources[0], ReportLines):
            return {}  # a directory holds a name once
        seen: set[str] = set()
        twice: set[str] = set()
        for source in self._sources:
            for _, name in _named(source):
                (twice if name in seen else seen).add(name)
        del seen
        return self._losers(twice) if twice else {}

    def _losers(self, twice: set[str]) -> dict[int, set[tuple[int, str]]]:
        best: dict[str, tuple[str, int, int]] = {}
        older: dict[int, set[tuple[int, str]]] = {}
        for at, source in enumerate(self._sources):
            for place, sent in source.sent(lambda _, name: name in twice):
                here = (_created(sent.data), at, place)  # equally old: what was named later counts
                loser = min(best.get(sent.node, here), here)
                best[sent.node] = max(best.get(sent.node, here), here)
                if loser != best[sent.node]:
                    older.setdefault(loser[1], set()).add((loser[2], sent.node))
                    self.doubles += 1
        return older


def _sent(source: ReportSource, wanted: Wanted) -> Iterator[Sent]:
    try:
        for _, sent in source.sent(wanted):
            yield sent
    except OSError as error:
        raise SourceError(f"{source.path} cannot be read: {error.strerror or error}.") from None


def _all_but(some: set[tuple[int, str]]) -> Wanted:
    return lambda place, name: (place, name) not in some


def _of(nodes: Container[str], older: set[tuple[int, str]]) -> Wanted:
    return lambda place, name: name in nodes and (place, name) not in older


class _LineVersion(msgspec.Struct):
    created: str = ""


def _created(data: bytes) -> str:
    """When a report was made; what cannot be read, or says no time, is older than all others."""
    try:
        return moment(msgspec.json.decode(data, type=_LineVersion).created)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""


def _named(source: ReportSource) -> Iterator[tuple[int, str]]:
    try:
        yield from source.names()
    except OSError as error:
        raise SourceError(f"{source.path} cannot be read: {error.strerror or error}.") from None
