"""The two sides of a comparison: facts with what was judged of them, or a report alone."""

import os

import msgspec

from gpudoctor.facts import Facts, facts_file
from gpudoctor.facts.facts_file import LIMIT, FactsFileError
from gpudoctor.report.model import SCHEMA, Report


class ComparedMachine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine.

    Attributes:
        title: for people.
        report: what was judged.
        facts: what it was judged from, masked, so that a name or a home folder is no difference; None: only a
            report was saved.
    """

    title: str
    report: Report
    facts: Facts | None = None


def side(title: str, facts: Facts) -> ComparedMachine:
    """A side out of facts; they are masked before they are judged, so that both sides name things alike.

    UUIDs stay: nothing leaves the machine here, and they tell which card is which.
    """
    from gpudoctor.pipeline import check
    from gpudoctor.privacy.masks import masked

    hidden = masked(facts, uuids=False)
    return ComparedMachine(title=title, facts=hidden, report=check(facts=hidden))


def read(path: str) -> ComparedMachine:
    """A side out of a facts file or a report file.

    Raises:
        FactsFileError: it cannot be read, or is neither; the message is one sentence.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a named pipe would be waited for
        raise FactsFileError(f"{path} is not a file.")
    name = os.path.basename(path)
    try:
        return side(name, facts_file.read(os.path.abspath(path)))
    except FactsFileError:
        report = _report(path)
        if report is None:
            raise
        return ComparedMachine(title=name, report=report)


def loaded(data: bytes, title: str) -> ComparedMachine:
    """A side out of the bytes of a facts file or a report file.

    Raises:
        FactsFileError: they are neither; the message is one sentence.
    """
    if len(data) > LIMIT:
        raise FactsFileError(f"The file {title} is larger than {LIMIT >> 20} MiB.")
    try:
        return side(title, facts_file.load(data, title))
    except FactsFileError:
        report = _decoded(data, title)
        if report is None:
            raise
        return ComparedMachine(title=title, report=report)


class _ReportVersion(msgspec.Struct):
    schema: str = ""


def _report(path: str) -> Report | None:
    """The report in a file; None where it is no report file.

    Raises:
        FactsFileError: it says that it is a report, and is none.
    """
    try:
        with open(path, "rb") as file:
            return _decoded(file.read(LIMIT + 1), path)
    except OSError:
        return None


def _decoded(data: bytes, name: str) -> Report | None:
    """The report that the bytes are; None where they are none.

    Raises:
        FactsFileError: they say that they are a report, and are none.
    """
    try:
        if len(data) > LIMIT or msgspec.json.decode(data, type=_ReportVersion).schema != SCHEMA:
            return None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    try:
        return msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise FactsFileError(f"The report file {name} is not valid: {str(error)[:200]}.") from None
