"""Many reports as one file with a line for each node, which is quicker to copy and to read than a file each."""

import gzip
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, NamedTuple, cast

import msgspec

from gpudoctor.fleet.reading.absent import UNREADABLE, Absent, asked
from gpudoctor.fleet.reading.heads import ReportError, head
from gpudoctor.fleet.reading.places import Sent
from gpudoctor.fleet.reading.sources import SourceError, Sources
from gpudoctor.fleet.summary import Missing

ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


class Merged(NamedTuple):
    """What came of it.

    Attributes:
        nodes: how many are in the file.
        doubles: older reports of nodes that have a newer one.
        left_out: nodes that were asked and have no report that can be read, by reason.
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
    absent = Absent()
    names: set[str] = set()
    with _whole(path) as file:
        for sent in sources:
            try:
                file.write(line(sent))
                names.add(sent.node)
            except ReportError as error:
                absent.add(sent.node, UNREADABLE, str(error))
        asked(absent, names, sources.ledgers)
        if not names:
            raise SourceError("There is no report that can be read, so nothing was written.")
    return Merged(len(names), sources.doubles, absent.told())


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
        raise ReportError("It is no report: it is no JSON throughout.") from None
    return b'{"node":%b,"report":%b}\n' % (msgspec.json.encode(sent.node), report)


@contextmanager
def _whole(path: str) -> Iterator[BinaryIO]:
    """A file beside the one that is wanted, which takes its place when everything is written."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, /dev/stdout
        with open(path, "wb") as stream:
            yield stream
        return
    part = f"{path}.{os.getpid()}.part"
    # never through a link that somebody has laid
    begun = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with ExitStack() as open_files:
            file = open_files.enter_context(os.fdopen(begun, "wb"))
            if path.endswith(".gz"):
                packed = gzip.GzipFile("", "wb", 6, file, mtime=0)
                yield cast(BinaryIO, open_files.enter_context(packed))
                packed.close()
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
