"""Where a report lands: a file of its own for each node, whole or not at all."""

import os
from urllib.parse import quote, unquote

import msgspec

from gpudoctor.facts.facts_file import write
from gpudoctor.report.model import SCHEMA

ENDING = ".json"
# A file's name has 255 bytes (NAME_MAX); what is left is for the ending and for that of a part.
LONGEST = 200


class NoReportError(ValueError):
    """What a node sent is no report; the message is one sentence."""


class _ReportKind(msgspec.Struct):
    """What shows that a document is a report; an older or a newer gpudoctor may have other fields besides."""

    schema: str = ""
    status: str = ""


def file_name(node: str) -> str:
    """The name of a node's file; signs that mean something in a path stand as in an address: %2F."""
    stem = quote(node, safe=":", errors="surrogateescape")
    if stem.startswith("."):
        stem = "%2E" + stem[1:]
    if stem.endswith(ENDING):
        stem = stem.removesuffix(ENDING) + "%2E" + ENDING[1:]
    return stem + ENDING


def node_name(name: str) -> str:
    """The node of a file's name, with or without its ending: what `file_name` was given."""
    return unquote(name.removesuffix(ENDING), errors="surrogateescape")


def too_long(node: str) -> bool:
    """Whether no file can have this node's name."""
    return not node or len(file_name(node)) > LONGEST


def land(folder: str, node: str, data: bytes) -> None:
    """Write the report of a node, on one line.

    Args:
        folder: of the reports.
        node: its name; it never leads out of the folder.
        data: as it was sent.

    Raises:
        NoReportError: it is no report.
        OSError: it cannot be written; nothing is left behind then.
    """
    write(os.path.join(folder, file_name(node)), checked(data))


def landed(folder: str, node: str) -> bool:
    """Whether a report of this node is there that can be read."""
    try:
        with open(os.path.join(folder, file_name(node)), "rb") as file:
            checked(file.read())
    except (OSError, NoReportError):
        return False
    return True


def checked(data: bytes) -> bytes:
    """The report on one line.

    Raises:
        NoReportError: it is none, or of another schema.
    """
    try:
        head = msgspec.json.decode(data, type=_ReportKind)
        line = msgspec.json.format(data, indent=-1)
        line.decode()
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise NoReportError(f"What it sent is not a report: {str(error)[:200].rstrip('.')}.") from None
    if head.schema != SCHEMA or not head.status:
        raise NoReportError(f"What it sent has the schema {head.schema[:60]!r}; this version reads {SCHEMA}.")
    return line
