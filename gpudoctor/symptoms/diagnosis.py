"""Joins a log to the report on a machine: which message is the root, and which finding explains it."""

from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.check_engine import Outcome, Verdict
from gpudoctor.facts import Facts, Host, LogEvent, Python
from gpudoctor.knowledge import kernel_log
from gpudoctor.knowledge.symptoms import Symptom, nearest
from gpudoctor.lazy_regex import pattern
from gpudoctor.registry import AREAS, BY_AREA, BY_MODULE
from gpudoctor.report.fixes import entries as fix_entries
from gpudoctor.report.model import FindingEntry, FixEntry, LogOrigin, RankEntry, Report, SymptomEntry
from gpudoctor.report.renderers.closing import INVITATIONS
from gpudoctor.symptoms.explaining import (
    ADVISES,
    GPU_CHECKS,
    NO_GPU,
    OF_PACKAGES,
    areas,
    areas_of,
    explaining,
    is_about,
    place,
    saying,
)
from gpudoctor.symptoms.extractors import NOTHING, Extracted, extracted
from gpudoctor.symptoms.fitting import fitting, of_engine
from gpudoctor.symptoms.log import Hit, Log, Raised
from gpudoctor.symptoms.mismatch import mismatch
from gpudoctor.symptoms.origin import LogMarks, Origin, Where, origin
from gpudoctor.symptoms.placeholders import named
from gpudoctor.symptoms.scanner import KEPT, SHOWN, scan

# The order in which messages are taken for the root. Where the kernel or a compiler names the cause, what programs
# report comes of it, wherever it is in the log. An exception that nobody knows stands before those that only waited or
# warned, and a launcher that passes on a failure is the last to ask.
RANK = {"cause": -1, "error": 0, "late": 1, "waits": 4, "warning": 5, "wrapper": 6}
EXPLAINS = -1  # a message that says why another one of the log came
EXPLAINED, UNKNOWN = 2, 3  # a warning that a failure of this machine explains; an exception that no row knows
_SHOWN = {"module-rejected", "lockdown-refused"}
ENGINE = "This message is written on the host, where containers are started: run `gpudoctor explain` there to check it."
_ABOUT_GPU = "a GPU-related exception"
_EXPLAINED_HERE = "an error of the installed packages, which was found on this machine"
UNKNOWN_WORDS = "this is an error that gpudoctor does not know"
OWN_WORDS = "an error in the program's own code that gpudoctor does not know; nothing in its words points to the GPU"
_OWN = pattern(
    r"^(KeyError|IndexError|TypeError|NameError|UnboundLocalError|AttributeError|SyntaxError|IndentationError"
    r"|ZeroDivisionError|NotImplementedError|RecursionError|StopIteration)\b"
)
_MISSING = pattern(r"No module named '(\w+)'")
_CHECK_ANOTHER = "gpudoctor check --python "
WITHOUT_GPU = {area.name for area in AREAS if area.without_gpu}


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


def explained(
    report: Report,
    log: Log,
    facts: Facts | None = None,
    verdicts: Sequence[Verdict] = (),
    where: Where | None = None,
    ranks: Sequence[RankEntry] = (),
    details: Sequence[str] = (),
    recorded: bool = False,
) -> Report:
    """The report with the log's messages, and with the findings that explain them first.

    The log of another machine is explained by itself alone.

    Args:
        report: on this machine.
        log: what was recognised.
        facts: that the report is about.
        verdicts: what the checks said, for what was ruled out.
        where: whether the log is this machine's; None: what it names of its machine is compared with the facts.
        ranks: what became of each rank, where the log is that of the decisive one of several.
        details: what all ranks together show, in sentences.
        recorded: whether the facts are of a file: then no other interpreter can be checked.
    """
    found = Origin(where) if where else origin(log.marks, facts or Facts())
    if found.where == "unknown" and log.typed:
        found = Origin("here", found.evidence)  # somebody asks on the machine that has the problem
    elsewhere = found.where == "elsewhere"
    # Nobody asks for a GPU more clearly than a program that fails without one, if it ran here.
    usable = [f for f in report.findings if f.status != "advice" or (f.check in ADVISES and found.where == "here")]
    cases, harmless = _cases(() if elsewhere else usable, log, None if elsewhere else facts)
    ruled = {} if elsewhere else _ruled_out(verdicts, report)
    there = _machine_of(log.marks)
    entries = [_entry(case, role, ruled, there if elsewhere else facts or there) for case, role in _roles(cases)]
    root = next((case.hit.symptom for case in cases[:1] if case.hit is not None), None)
    follow = root.explains if root is not None else ()
    # What comes of the root is over with it; its row's own steps are for other roots.
    entries = [msgspec.structs.replace(one, fixes=()) if one.id in follow else one for one in entries]
    notice = "" if elsewhere or not cases else _notice(cases[0], report, facts, recorded)
    entries = (
        [msgspec.structs.replace(one, fixes=_without_choice(one.fixes)) for one in entries] if recorded else entries
    )
    first_of = [msgspec.structs.replace(one, details=(*details, *one.details), notice=notice) for one in entries[:1]]
    entries[:1] = first_of
    entries += harmless
    first = list(dict.fromkeys(id(f) for case in cases for f in case.findings))
    by_id = {id(f): f for f in report.findings}
    ordered = [by_id[key] for key in first] + [f for f in report.findings if id(f) not in first]
    return msgspec.structs.replace(
        report,
        findings=tuple(ordered),
        symptoms=tuple(entries),
        next=tuple(one for one in report.next if not (entries and one in INVITATIONS)),
        ranks=tuple(ranks),
        log_origin=LogOrigin(where=found.where, evidence=found.evidence, typed=log.typed),
    )


def with_shown(facts: Facts, log: Log, where: Where | None) -> Facts:
    """The facts with what the log of this machine shows and the kernel log does not: that a module was rejected.

    Reading the kernel log needs root on most desktops, and who asks has the error that modprobe printed. What it says
    of another module than NVIDIA's is no evidence for NVIDIA's driver, whose checks read these events.

    Args:
        facts: of this machine.
        log: what was recognised.
        where: whether the log is this machine's; None: what it names of its machine is compared with the facts.
    """
    if not log.typed and (where or origin(log.marks, facts).where) != "here":
        return facts
    lines = (line for hit in log.hits.values() if _SHOWN & {*hit.symptom.kinds} for line in hit.lines[:1])
    found = [one for line in lines if (one := kernel_log.recognise(line)) is not None and one.kind in _SHOWN]
    own = [one for one in found if (one.module or "nvidia").startswith("nvidia")]
    if not own:
        return facts
    shown = tuple(LogEvent(kind=one.kind, text=one.text or "") for one in own)
    return msgspec.structs.replace(facts, log=msgspec.structs.replace(facts.log, shown=shown))


def attach(
    report: Report,
    text: str,
    facts: Facts | None = None,
    verdicts: Sequence[Verdict] = (),
    recorded: bool = False,
) -> Report:
    """The report with a message that somebody saw on the machine; the arguments are those of `explained`."""
    return explained(report, log_of(text), facts, verdicts, "here", recorded=recorded)


def log_of(text: str) -> Log:
    """A typed message as a log: one that nobody knows is an error all the same, since somebody asks what it means."""
    log = scan([text.encode("utf-8", "replace")])
    log.typed = log.lines <= 1  # several lines are a piece of a log, which has numbers to speak of
    for hit in log.hits.values() if log.typed else ():
        hit.line = 0
    log.raised = [msgspec.structs.replace(one, line=0) for one in log.raised] if log.typed else log.raised
    if not (log.hits or log.harmless or log.raised) and text.strip():
        log.raised.append(Raised(line=0, text=" ".join(text.split())[:SHOWN], program=""))
    return log


def _cases(found: Sequence[FindingEntry], log: Log, facts: Facts | None) -> tuple[list[_Case], list[SymptomEntry]]:
    """The messages, the root first, and those that do no harm."""
    cases, harmless = [], [_harmless(row.id, row.program, row.meaning, times) for row, times in log.harmless.values()]
    failing = _failing(log)
    quiet = {id_ for row, _ in log.harmless.values() for id_ in row.explains}
    read = {hit.symptom.id: _extracted_from(hit, log, facts) for hit in log.hits.values()}
    meant = [hit for hit in log.hits.values() if hit.symptom.id not in quiet and not read[hit.symptom.id].harmless]
    ids = {hit.symptom.id for hit in meant}
    follow = {id_ for hit in meant for id_ in hit.symptom.explains}
    for hit in log.hits.values():
        said = read[hit.symptom.id]
        if hit not in meant:
            meaning = said.meaning if said.harmless else hit.symptom.meaning
            harmless.append(_harmless(hit.symptom.id, hit.symptom.program, meaning, hit.times))
            continue
        left = [f for f in found if f.check not in said.rules_out and is_about(f, hit)]
        findings = () if of_engine(hit.symptom, facts) else explaining(hit.symptom.checks, areas(hit), left)
        findings = findings or (saying(hit.text, left, hit.frames) if hit.frames else ())
        rank = EXPLAINS if ids & {*hit.symptom.explains} else _rank(hit, findings, failing)
        rank = RANK["late"] if hit.symptom.id in follow and rank == RANK["error"] else rank
        cases.append(_Case(rank, hit.line, hit, None, said, findings))
    # What led to a message that is known says no more than that: KeyError: 'qwen3'.
    raised = [one for one in _raised(log) if not (meant and one.passed_on and _OWN.match(one.text))]
    for number, one in enumerate(raised):
        own = areas_of(one.packages)
        findings = saying(one.text, found, one.frames) or explaining(GPU_CHECKS if one.gpu else (), own, found)
        said = mismatch(one.text, one.frames, facts, one.file)
        rank = RANK["wrapper"] if _asserts(one, meant) else UNKNOWN if number == 0 else RANK["waits"]
        cases.append(_Case(rank, one.line, None, one, said, findings))
    return sorted(cases, key=lambda case: case.order), harmless


def _asserts(raised: Raised, meant: Sequence[Hit]) -> bool:
    """Whether the program's own assertion failed after a library had warned of an error, with which it went on."""
    own = raised.text.startswith("AssertionError") and not any(raised.frames)
    warned = [hit for hit in meant if hit.kind == "warning" and hit.symptom.kind == "error" and hit.symptom.fixes]
    return own and any(hit.line < raised.line for hit in warned)


def _machine_of(marks: LogMarks) -> Facts:
    """What a log tells of its machine: whether it is Windows, and which Python a portable program there brings."""
    if marks.system != "Windows":
        return Facts()
    python = marks.windows_python
    return Facts(host=Host(system="Windows"), pythons=(Python(path=python),) if python else ())


def _extracted_from(hit: Hit, log: Log, facts: Facts | None) -> Extracted:
    """What a message's words tell; where its row is about two packages, its traceback tells which."""
    of_cupy = hit.symptom.tells == "soname" and "cupy" in hit.frames  # which brings its own, by an extra
    said = extracted("cupy_library" if of_cupy else hit.symptom.tells, _read(hit, log), facts)
    if hit.symptom.tells == "missing_module":  # of a package that is installed: of another release than this one
        return of_release if (of_release := mismatch(hit.text, hit.frames, facts)) is not NOTHING else said
    lines = [line for fix in hit.symptom.fixes for line in fix.commands if isinstance(line, str)]
    # What an older release of the one breaks is known where the machine is: its Python, and what else requires it.
    pair = any("OTHER" in line or (facts and "PACKAGE" in line) for line in lines)
    return mismatch(hit.text, hit.frames, facts) if pair and said is NOTHING else said


def _read(hit: Hit, log: Log) -> list[str]:
    """The lines of a message, and what it needs of the others: the AMD target, where it is only one; the launcher's."""
    named = log.marks.found.get("gfx", [])
    if hit.symptom.tells == "ordinal":
        return [*hit.lines, *(line for one in log.hits.values() if one.kind == "wrapper" for line in one.lines)]
    return [*hit.lines, *named] if len(named) == 1 else hit.lines


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


def _entry(case: _Case, role: str, ruled: dict[str, Outcome], facts: Facts) -> SymptomEntry:
    if case.raised is not None:
        own = not case.raised.gpu and not case.findings and _OWN.match(case.raised.text) is not None
        # What Python raises in words that have nothing to do with GPUs is near to no row.
        asks = not own and (case.raised.gpu or case.raised.program != "Python")
        inside = case.raised.frames[0] if own and case.raised.frames else ""
        unknown = OWN_WORDS if own else UNKNOWN_WORDS
        if inside and inside not in BY_MODULE:
            unknown = f"an error that gpudoctor does not know, in the code of {inside}"
        words = _ABOUT_GPU if case.raised.gpu else _EXPLAINED_HERE
        return SymptomEntry(
            id="",
            role=role,
            program=case.raised.program,
            message=case.raised.text,
            meaning=case.reported.meaning or (words if case.findings else unknown),
            line=case.line,
            rank=case.raised.rank,
            explained_by=tuple(f.check for f in case.findings),
            nearest=nearest(case.raised.text) if asks and not (case.findings or case.reported.meaning) else (),
            fixes=() if case.findings else fix_entries(case.reported.fixes, facts),
            unexplained=not (case.findings or case.reported.decided),
        )
    assert case.hit is not None  # noqa: S101 - a case has one or the other
    row = case.hit.symptom
    # of visibility's checks each looks for the same, of another area's each for something else
    engine = of_engine(row, facts)
    looked = [i for i in ruled if place(i, row.checks, exact=not i.startswith("visibility.")) < len(row.checks)]
    # What the facts show needs no list of others.
    looked = [] if engine or case.reported.confirmed else [i for i in looked if i not in OF_PACKAGES]
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
        fixes=_fixes(case, row, facts),
        advice=case.reported.advice or row.advice,
        unexplained=not (case.findings or case.reported.confirmed or case.reported.decided or engine),
    )


def _without_choice(fixes: Sequence[FixEntry]) -> tuple[FixEntry, ...]:
    """The fixes without those that check another interpreter."""
    return tuple(one for one in fixes if not any(line.startswith(_CHECK_ANOTHER) for line in one.commands))


def _notice(root: _Case, report: Report, facts: Facts | None, recorded: bool) -> str:
    """That the checked Python has not the framework that wrote the message; empty where that is unknown, or it has.

    Or that this is a container, and the message is of what starts containers.
    """
    if root.hit and of_engine(root.hit.symptom, facts):
        return ENGINE
    own = areas(root.hit) if root.hit else areas_of(root.raised.packages if root.raised else ())
    if root.hit and (missing := _MISSING.search(root.hit.text)):
        own = areas_of((missing[1],))
    there = {BY_MODULE[one.name].area for one in report.frameworks if one.name in BY_MODULE}
    checked = [one.path for one in report.pythons if one.error is None]
    if root.findings or len(own) != 1 or own & there or not checked:
        return ""
    title = BY_AREA[min(own)].title
    has = "which has" if len(checked) == 1 else "which have"
    another = "" if recorded else ": use --python YOUR_ENV to check the one that has it"
    return f"Checked {' and '.join(checked)}, {has} no {title}{another}."


def _fixes(case: _Case, row: Symptom, facts: Facts) -> tuple[FixEntry, ...]:
    """What helps here: what the finding that explains it does, else what the message's words tell, then its row."""
    if case.findings and case.findings[0].fixes:
        return ()
    steps = fitting(row, facts, fix_entries(case.reported.fixes, facts), case.reported.decided)
    return named(steps, case.hit.lines or [case.hit.text], case.hit.frames, facts) if case.hit else steps


def _ruled_out(verdicts: Sequence[Verdict], report: Report) -> dict[str, Outcome]:
    """How each check ended that had something to look at: with the worst of its subjects."""
    order = (Outcome.SKIPPED, Outcome.PASS, Outcome.UNKNOWN, Outcome.BROKEN, Outcome.PROBLEM)
    frameworks = {BY_MODULE[one.name].area for one in report.frameworks if one.name in BY_MODULE}
    found: dict[str, Outcome] = {}
    for verdict in verdicts:
        area = verdict.check.area
        if (area in BY_AREA and area not in frameworks) or (not report.gpus and area not in WITHOUT_GPU):
            continue
        old = found.get(verdict.check.id, Outcome.SKIPPED)
        found[verdict.check.id] = max(old, verdict.outcome, key=order.index)
    return found
