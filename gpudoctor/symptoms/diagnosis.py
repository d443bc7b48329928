"""Joins a log to the report on a machine: which message is the root, and which finding explains it."""

from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.check_engine import Outcome, Verdict
from gpudoctor.facts import Facts
from gpudoctor.report.model import FindingEntry, Report, SymptomEntry
from gpudoctor.symptoms.explaining import GPU_CHECKS, NO_GPU, areas, areas_of, explaining, place
from gpudoctor.symptoms.extractors import NOTHING, Extracted, extracted
from gpudoctor.symptoms.log import Hit, Log, Raised
from gpudoctor.symptoms.scanner import KEPT, scan

# The order in which messages are taken for the root. An exception that nobody knows stands before those that only
# waited or warned, and a launcher that passes on a failure is the last to ask.
RANK = {"error": 0, "late": 1, "waits": 4, "warning": 5, "wrapper": 6}
EXPLAINED, UNKNOWN = 2, 3  # a warning that a failure of this machine explains; an exception that no row knows
UNKNOWN_WORDS = "not a message that gpudoctor knows; most often it is the program's own"


class _Case(msgspec.Struct):
    """A message with what is known of it."""

    rank: int
    line: int
    hit: Hit | None = None
    raised: Raised | None = None
    reported: Extracted = NOTHING
    findings: tuple[FindingEntry, ...] = ()

    @property
    def order(self) -> tuple[int, bool, int]:
        """The root first: by kind, then what a finding explains, then the first line."""
        return self.rank, not any(f.status != "advice" for f in self.findings), self.line


def explained(report: Report, log: Log, facts: Facts | None = None, verdicts: Sequence[Verdict] = ()) -> Report:
    """The report with the log's messages, and with the findings that explain them first.

    Args:
        report: on the machine; it need not be the one where the log was written.
        log: what was recognised.
        facts: that the report is about.
        verdicts: what the checks said, for what was ruled out.
    """
    cases, harmless = _cases(report, log, facts)
    ruled = _outcomes(verdicts)
    entries = [_entry(case, role, ruled) for case, role in _roles(cases)]
    entries += harmless
    first = list(dict.fromkeys(id(f) for case in cases for f in case.findings))
    by_id = {id(f): f for f in report.findings}
    found = [by_id[key] for key in first] + [f for f in report.findings if id(f) not in first]
    return msgspec.structs.replace(report, findings=tuple(found), symptoms=tuple(entries))


def attach(report: Report, text: str, facts: Facts | None = None, verdicts: Sequence[Verdict] = ()) -> Report:
    """The report with what explains a message first; told in its last lines, because there is no log to show."""
    report = explained(report, scan([text.encode("utf-8", "replace")]), facts, verdicts)
    return msgspec.structs.replace(report, next=(*_sentences(report), *report.next))


def _sentences(report: Report) -> Iterable[str]:
    known = [entry for entry in report.symptoms if entry.id]
    if not known:
        yield "gpudoctor does not know this message."
        return
    for entry in known:
        yield f"The message means: {entry.meaning}."
    root = known[0]
    if root.explained_by:
        yield f"Matching problem on this machine: {report.findings[0].title}."
    elif root.role == "harmless":
        yield "It is harmless."
    else:
        yield "No finding on this machine explains it: the cause may be in the program, or may be gone."
        yield from root.suggestions
    if root.advice:
        yield f"{root.advice}."


def _cases(report: Report, log: Log, facts: Facts | None) -> tuple[list[_Case], list[SymptomEntry]]:
    """The messages, the root first, and those that do no harm."""
    cases, harmless = [], [_harmless(row.id, row.program, row.meaning, times) for row, times in log.harmless.values()]
    failing = _failing(log)
    for hit in log.hits.values():
        said = extracted(hit.symptom.tells, hit.lines, facts)
        if said.harmless:
            harmless.append(_harmless(hit.symptom.id, hit.symptom.program, said.meaning, hit.times))
            continue
        left = [f for f in report.findings if f.check not in said.rules_out]
        findings = explaining(hit.symptom.checks, areas(hit), left)
        cases.append(_Case(_rank(hit, findings, failing), hit.line, hit, None, said, findings))
    for number, one in enumerate(_raised(log)):
        own = areas_of(one.packages)
        findings = explaining(GPU_CHECKS if one.gpu else (), own, report.findings)
        cases.append(_Case(UNKNOWN if number == 0 else RANK["waits"], one.line, None, one, NOTHING, findings))
    return sorted(cases, key=lambda case: case.order), harmless


def _raised(log: Log) -> list[Raised]:
    """The exceptions that no row knows, the root first: the last, unless it came of the first or of another rank."""
    if len(log.raised) < 2:
        return log.raised
    several = any(hit.kind in ("waits", "wrapper") for hit in log.hits.values())
    several = several or len({one.rank for one in log.raised}) > 1
    first = several or (log.raised[-1].chained and len(log.raised) <= KEPT + 1)
    return [log.raised[0], log.raised[-1]] if first else [log.raised[-1]]


def _failing(log: Log) -> set[str]:
    """Where the program failed, as far as the log tells: in which frameworks, or in something of its own."""
    if log.raised and not any(one.gpu for one in log.raised):
        return {"the program"}
    found = {area for hit in log.hits.values() if hit.kind != "warning" for area in areas(hit)}
    return found | areas_of(name for one in log.raised for name in one.packages)


def _rank(hit: Hit, findings: Sequence[FindingEntry], failing: set[str]) -> int:
    """The rank of a message: what TensorFlow warned of is no reason for what failed in PyTorch."""
    if hit.kind != "warning" or not any(f.status == "fail" or f.check in NO_GPU for f in findings):
        return RANK[hit.kind]
    own = areas(hit)
    return RANK["warning"] if failing and not own & failing and (own or "the program" in failing) else EXPLAINED


def _harmless(id_: str, program: str, meaning: str, times: int) -> SymptomEntry:
    return SymptomEntry(id=id_, role="harmless", program=program, message="", meaning=meaning, times=times)


def _roles(cases: list[_Case]) -> Iterable[tuple[_Case, str]]:
    for number, case in enumerate(cases):
        yield case, "root" if number == 0 else _role(case, cases[0])


def _role(case: _Case, root: _Case) -> str:
    """What a message is next to the root."""
    if any(f is g for f in case.findings for g in root.findings):
        return "same"
    if case.raised is not None:
        return "follows" if root.raised is not None else "also"
    if case.hit is not None and case.hit.kind == "warning":
        return "warning"
    follows = case.rank in (RANK["late"], RANK["waits"], RANK["wrapper"])
    return "follows" if follows and root.rank < case.rank else "also"


def _entry(case: _Case, role: str, ruled: dict[str, Outcome]) -> SymptomEntry:
    if case.raised is not None:
        return SymptomEntry(
            id="",
            role=role,
            program="Python",
            message=case.raised.text,
            meaning="a GPU-related exception" if case.findings else UNKNOWN_WORDS,
            line=case.line,
            rank=case.raised.rank,
            explained_by=tuple(f.check for f in case.findings),
        )
    assert case.hit is not None  # noqa: S101 - a case has one or the other
    row = case.hit.symptom
    looked = [id_ for id_ in ruled if place(id_, row.checks) < len(row.checks)]
    return SymptomEntry(
        id=row.id,
        role=role,
        program=row.program,
        message=case.hit.text,
        meaning=case.reported.meaning or row.meaning,
        line=case.line,
        times=case.hit.times,
        rank=case.hit.rank,
        details=case.reported.details,
        explained_by=tuple(f.check for f in case.findings),
        ruled_out=tuple(sorted(i for i in looked if ruled[i] is Outcome.PASS)),
        unknown=tuple(sorted(i for i in looked if ruled[i] in (Outcome.UNKNOWN, Outcome.BROKEN))),
        suggestions=tuple(dict.fromkeys((*case.reported.tries, *row.tries))),
        advice=case.reported.advice or row.advice,
    )


def _outcomes(verdicts: Sequence[Verdict]) -> dict[str, Outcome]:
    """How each check ended: with the worst of its subjects."""
    order = (Outcome.SKIPPED, Outcome.PASS, Outcome.UNKNOWN, Outcome.BROKEN, Outcome.PROBLEM)
    found: dict[str, Outcome] = {}
    for verdict in verdicts:
        old = found.get(verdict.check.id, Outcome.SKIPPED)
        found[verdict.check.id] = max(old, verdict.outcome, key=order.index)
    return found
