"""Messages of public threads with known causes, and what the answer to each misses.

A row of `SUBJECT.toml` next to this file:

    name     of the row, once per subject
    source   the thread (`owner/repo#123`) or the document (URL) that tells the cause
    log      the programs' own messages; paths and hosts are invented
    kind     "fault" (the default), "not-gpu": the GPU is not the cause, "noise": nothing is wrong
    root     what the first stated cause must name: each regular expression, case-insensitive
    fix      what its steps must hold: each regular expression
    command  whether that step can be typed or set (a command, a variable, a flag, a line of code), or what is typed
    never    what no step may hold: harmful, or known not to help
    open     why the row is not answered yet; the test fails as soon as it is
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.report.model import FixEntry, Report, SymptomEntry
from gpudoctor.symptoms import explained, scan
from gpudoctor.toml import tomllib

HERE = Path(__file__).parent
# What can be typed or set, in a step that is prose: code, a flag, a variable, an assignment.
TYPED = r"`|(?<!\w)--\w|\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b|\w ?=+ ?\w"


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log with its known cause."""

    name: str
    source: str
    log: str
    kind: Literal["fault", "not-gpu", "noise"] = "fault"
    root: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    command: bool | str = False
    never: tuple[str, ...] = ()
    open: str = ""
    subject: str = ""

    @property
    def id(self) -> str:
        """Its name with its subject."""
        return f"{self.subject}/{self.name}"


class Answer(msgspec.Struct, frozen=True):
    """What gpudoctor says of a row's log, without a machine.

    Attributes:
        first: the first stated entry; None: it says nothing.
        root: whether that names the cause.
        fix: whether its steps hold the right one.
        command: whether the right step can be typed or set.
        harmful: steps that the row forbids.
    """

    first: SymptomEntry | None
    root: bool
    fix: bool
    command: bool
    harmful: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether a row of the tables was recognized, rightly or not."""
        return self.first is not None and bool(self.first.id)


@cache
def rows() -> tuple[Row, ...]:
    """Every row, by subject."""
    return tuple(row for path in sorted(HERE.glob("*.toml")) for row in _of(path))


def _of(path: Path) -> Iterator[Row]:
    for one in tomllib.loads(path.read_text(encoding="utf-8"))["row"]:
        yield msgspec.convert({**one, "subject": path.stem}, Row)


def answer(row: Row) -> Answer:
    """What is said of the row's log by itself, as `explain --elsewhere` does."""
    entries = explained(Report(), scan([row.log.encode()]), Facts(), (), "elsewhere").symptoms
    stated = [entry for entry in entries if entry.role != "harmless"]
    if not stated:
        return Answer(None, False, False, False, ())
    first, steps = stated[0], [_step(fix) for fix in stated[0].fixes]
    said = " ".join((first.program, first.meaning, *first.details))
    right = [fix for fix, step in zip(first.fixes, steps, strict=True) if any(_in(one, step) for one in row.fix)]
    return Answer(
        first,
        bool(first.id) and all(_in(one, said) for one in row.root),
        bool(row.fix) and all(_in(one, "\n".join(steps)) for one in row.fix),
        any(_typed(fix, row.command) for fix in right),
        tuple(step for step in steps if any(_in(one, step) for one in row.never)),
    )


def missed(row: Row) -> list[str]:
    """What the answer to a row lacks, in sentences; empty: it is right."""
    found = answer(row)
    harmful = [f"gives a forbidden step: {' '.join(step.split())}" for step in found.harmful]
    if row.kind == "noise":
        return [] if found.first is None else [f"is not quiet: {_stated(found)}"]
    if row.kind == "not-gpu":
        return harmful if found.root or not found.known else [f"blames another cause: {_stated(found)}", *harmful]
    misses = [] if found.root else [f"root: {_stated(found)}"]
    if row.fix and not found.fix:
        misses.append(f"fix: none of its steps holds {' and '.join(row.fix)}")
    elif row.command and not found.command:
        misses.append("command: the right step is only prose")
    return misses + harmful


def _stated(found: Answer) -> str:
    if found.first is None:
        return "says nothing"
    if not found.first.id:
        return "an error that it does not know"
    return f"says {found.first.id}: {found.first.meaning}"


def _step(fix: FixEntry) -> str:
    return "\n".join((fix.message, *fix.commands))


def _typed(fix: FixEntry, wanted: bool | str) -> bool:
    """Whether a step can be typed as it is: PACKAGE stands for what the reader has to find out."""
    if isinstance(wanted, str):
        return _in(wanted, _step(fix)) and not re.search(r"\bPACKAGE\b", _step(fix))
    return bool(fix.commands) or re.search(TYPED, fix.message) is not None


def _in(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
