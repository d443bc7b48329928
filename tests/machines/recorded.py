"""Machines of bundles that users sent, each with the verdict that is right: recorded.toml, facts in recorded/NAME.json.

`scripts/add_case.py` writes both. A row may stand before gpudoctor is right about it: its test fails until it is.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import read
from gpudoctor.report.model import FindingEntry, Report
from gpudoctor.toml import tomllib

HERE = Path(__file__).parent
HEALTHY = "none"  # as a cause: nothing fails, and nothing warns
LIMIT = 256 << 10  # bytes of one machine's facts as they are written; eight GPUs with smoke tests take 215 KB


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is right about one machine.

    Attributes:
        name: its facts are recorded/NAME.json.
        month: when it was recorded, such as "2026-11".
        cause: the check whose finding comes first; HEALTHY: nothing fails or warns.
        status: of that finding; "": not held.
        effects: the checks under it, exactly; None: not held.
        never: checks that have no finding of their own; under the cause they may stand.
        fix: what the sentence or a command of its first fix contains; "": not held.
        hardware: the real GPU of the machine; "": a simulated host, or nobody knows.
        source: where its problem was reported.
    """

    name: str
    month: str
    cause: str
    status: str = ""
    effects: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    fix: str = ""
    hardware: str = ""
    source: str = ""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    machine: tuple[Row, ...] = ()


def rows(place: Path = HERE) -> tuple[Row, ...]:
    """The rows of recorded.toml in a directory."""
    return msgspec.convert(tomllib.loads((place / "recorded.toml").read_text(encoding="utf-8")), _Table).machine


def facts(row: Row, place: Path = HERE) -> Facts:
    """The facts of a row."""
    return read(str(place / "recorded" / f"{row.name}.json"))


def effects(finding: FindingEntry) -> tuple[str, ...]:
    """The checks under a finding, each once, sorted."""
    return tuple(sorted({one.check for one in finding.consequences}))


def wrong(row: Row, report: Report) -> list[str]:
    """What a report has otherwise than its row, a sentence each; none: the diagnosis is right."""
    return list(_wrong(row, report))


def _wrong(row: Row, report: Report) -> Iterator[str]:
    loud = [one.check for one in report.findings if one.status != "advice"]
    for check in sorted(set(row.never) & {one.check for one in report.findings}):
        yield f"{check} is reported, and must not be."
    if row.cause == HEALTHY:
        if loud:
            yield f"The machine is healthy, and gpudoctor reports {', '.join(dict.fromkeys(loud))}."
        return
    if not report.findings:
        yield f"The first finding should be {row.cause}, and there is none."
        return
    first = report.findings[0]
    if first.check != row.cause:
        yield f"The first finding should be {row.cause}, and is {first.check}."
        return
    if row.status and first.status != row.status:
        yield f"{row.cause} should be of status {row.status}, and is {first.status}."
    if row.effects is not None and effects(first) != tuple(sorted(row.effects)):
        yield f"Its effects should be {' '.join(row.effects) or 'none'}, and are {' '.join(effects(first)) or 'none'}."
    fix = "\n".join((first.fixes[0].message, *first.fixes[0].commands)) if first.fixes else ""
    if row.fix not in fix:
        yield f"Its first fix should contain {row.fix!r}, and is {fix!r}."
