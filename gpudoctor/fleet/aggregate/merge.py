"""Many reports as one file with a line for each node, which is quicker to copy and to read than a file each."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, cast

import msgspec

from gpudoctor.facts.facts_file import whole
from gpudoctor.fleet.aggregate.inputs import Sent
from gpudoctor.fleet.aggregate.missing_reports import UNREADABLE, MissingReports, asked
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.aggregate.report_header import ReportError, head
from gpudoctor.fleet.aggregate.report_sources import SourceError, Sources
from gpudoctor.fleet.runner.ledger import STATES as LEDGER
from gpudoctor.fleet.summary import Missing


class Merged(NamedTuple):
    """What came of it.

    Attributes:
        nodes: how many are in the file.
        doubles: older reports of nodes that have a newer one.
        left_out: nodes that were asked and have no report that can be read, by reason; the file has a line for each.
    """

    nodes: int
    doubles: int
    left_out: tuple[Missing, ...]


def merge(sources: Sources, path: str) -> Merged:
    """Write the file, whole or not at all; one report at a time is held in memory, and the names.

    Args:
        sources: the reports.
        path: of the file; it may be one of the sources. Packed where its name ends in .gz.

    Raises:
        OSError: it cannot be written; nothing is left behind then.
        SourceError: a source cannot be read to its end, or none of the reports can be; the same.
    """
    absent = MissingReports()
    names: set[str] = set()
    with whole(path) as begun, _packed(path, begun) as file:
        for sent in sources:
            try:
                file.write(line(sent))
                names.add(sent.node)
            except ReportError as error:
                absent.add(sent.node, sent.state if sent.state in LEDGER else UNREADABLE, str(error))
        asked(absent, names, sources.ledgers)
        for one in absent.entries() if names else ():
            for node in unfolded(one.nodes, one.count):
                file.write(msgspec.json.encode({"node": node, "state": one.state, "why": one.why}) + b"\n")
        if not names:
            raise SourceError("No readable report, so nothing was written.")
    return Merged(len(names), sources.doubles, absent.entries())


def line(sent: Sent) -> bytes:
    """A report as a line of the file.

    Raises:
        ReportError: it is none.
    """
    if sent.why:
        raise ReportError(sent.why)
    data = sent.data
    head(data)
    try:
        report = msgspec.json.format(data, indent=-1)
        report.decode()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise ReportError("It is not a report: it is not valid JSON throughout.") from None
    return b'{"node":%b,"report":%b}\n' % (msgspec.json.encode(sent.node), report)


@contextmanager
def _packed(path: str, file: BinaryIO) -> Iterator[BinaryIO]:
    """What takes the lines on their way to the file: it packs them where the file's name says so."""
    if not path.endswith(".gz"):
        yield file
        return
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        yield cast(BinaryIO, packed)
