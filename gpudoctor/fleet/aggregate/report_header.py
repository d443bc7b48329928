"""A report cut into its parts, of which only those are parsed that are seen for the first time."""

import re
from typing import NamedTuple

import msgspec

from gpudoctor.report.model import SCHEMA, STATUSES

_NONE, _LIST, _TREE = msgspec.Raw(b"null"), msgspec.Raw(b"[]"), msgspec.Raw(b"{}")
EMPTY = b"[]"


class ReportError(ValueError):
    """What is there is no report; the message is one sentence."""


class _Inventory(msgspec.Struct, frozen=True, gc=False):
    machine: msgspec.Raw = _TREE
    gpus: msgspec.Raw = _LIST
    packages: msgspec.Raw = _TREE


class _Report(msgspec.Struct, frozen=True, gc=False):
    schema: str = ""
    status: str = "incomplete"
    created: str = ""
    gpus: msgspec.Raw = _LIST
    findings: msgspec.Raw = _LIST
    smoke: msgspec.Raw = _LIST
    unknown: msgspec.Raw = _LIST
    inventory: _Inventory = _Inventory()


class ReportHeader(NamedTuple):
    """What a summary needs of a report; the parts are JSON."""

    status: str
    created: str
    gpus: bytes  # as people read them
    findings: bytes
    smoke: bytes
    machine: bytes  # of the inventory, like the next two
    listed: bytes
    packages: bytes
    unknown: bytes  # what could not be found out


class _HeaderLine(msgspec.Struct, frozen=True, gc=False):
    report: _Report = _Report()


_decode = msgspec.json.Decoder(_Report).decode
_decode_line = msgspec.json.Decoder(_HeaderLine).decode
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z")


def head(data: bytes, line: bytes = b"") -> ReportHeader:
    """Cut a report into its parts.

    Args:
        data: the report.
        line: a line of a file that holds it, in the place of `data`: it is gone through once.

    Raises:
        ReportError: it is no JSON, was cut short, or is of another schema.
    """
    try:
        report = _decode_line(line).report if line else _decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ReportError(f"It is not a report: {said(error)}.") from None
    if report.schema != SCHEMA:
        raise ReportError(f"It has the schema {report.schema[:60]!r}; this version reads {SCHEMA}.")
    if report.status not in STATUSES:
        raise ReportError(f"It has the status {report.status[:60]!r}, which is not defined.")
    inventory = report.inventory
    return ReportHeader(
        report.status,
        report.created,
        bytes(report.gpus),
        bytes(report.findings),
        bytes(report.smoke),
        bytes(inventory.machine),
        bytes(inventory.gpus),
        bytes(inventory.packages),
        bytes(report.unknown) if report.status == "incomplete" else EMPTY,
    )


def moment(created: str) -> str:
    """When a report says that it was made, as gpudoctor writes it (ISO 8601, UTC); empty: it says no time."""
    return created if _MOMENT.fullmatch(created) else ""


def said(error: Exception) -> str:
    """An error's words, short, without a full stop; without the place of each, which would tell like ones apart."""
    text = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
    return text.partition(" (byte")[0].partition(" - at ")[0][:200].rstrip(".")
