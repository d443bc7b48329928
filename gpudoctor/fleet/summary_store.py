"""Summaries in files: an earlier one is read, and the directory of a run keeps its last one."""

import errno
import os

import msgspec

from gpudoctor.facts.facts_file import write
from gpudoctor.fleet.history import compared
from gpudoctor.fleet.runner.run_directory import SUMMARY
from gpudoctor.fleet.summary import SCHEMA, Fleet
from gpudoctor.report.sanitize import document

LIMIT = 256 << 20  # bytes; that of 100,000 nodes with a name of its own each has 10 MB
_MAY_NOT = (errno.EROFS, errno.EACCES, errno.EPERM)


class SummaryError(Exception):
    """An earlier summary cannot be read, or one cannot be kept; the message is one sentence."""


class _SummaryVersion(msgspec.Struct):
    schema: str = ""


def is_summary(path: str) -> bool:
    """Whether a file begins as a summary does; what it is else, others say."""
    try:
        with open(path, "rb") as file:
            return SCHEMA.split("/")[0].encode() + b"/" in file.read(200)
    except OSError:
        return False


def read(path: str) -> Fleet:
    """A summary that `fleet report --format json` wrote.

    Raises:
        SummaryError: it cannot be read, or is none.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise SummaryError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > LIMIT:
        raise SummaryError(f"{path} is larger than {LIMIT >> 20} MiB.")
    try:
        schema = msgspec.json.decode(data, type=_SummaryVersion).schema
        if schema != SCHEMA:
            raise SummaryError(f"{path} has the schema {schema[:60]!r}; this version reads {SCHEMA}.")
        return msgspec.json.decode(data, type=Fleet)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise SummaryError(f"{path} is not a fleet summary: {str(error)[:200]}.") from None


def since_last(folder: str, now: Fleet) -> Fleet:
    """The summary with what has changed since the one that a run's directory keeps; the same reports change nothing.

    Raises:
        SummaryError: the one that it keeps cannot be read.
    """
    path = os.path.join(folder, SUMMARY)
    if not os.path.lexists(path):
        return now
    before = read(path)
    if _same(before, now):  # asked again about the same reports: what had changed before them still has
        return msgspec.structs.replace(now, changes=before.changes, since=before.since)
    return compared(now, before)


def _same(before: Fleet, now: Fleet) -> bool:
    """Whether both are of the same reports."""
    return (before.oldest, before.newest, before.total, before.states) == (
        now.oldest,
        now.newest,
        now.total,
        now.states,
    )


def keep(folder: str, now: Fleet) -> None:
    """Keep a summary in a run's directory, whole or not at all; where nobody may write, nothing is kept.

    Raises:
        SummaryError: the disk is full, or the like.
    """
    path = os.path.join(folder, SUMMARY)
    try:
        write(path, document(now).encode())
    except OSError as error:
        if error.errno not in _MAY_NOT:
            raise SummaryError(f"{path} cannot be written: {error.strerror or error}.") from None
