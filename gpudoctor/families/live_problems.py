"""The problem of a framework that was imported: its import raises, its process crashes or hangs, or it refuses."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity
from gpudoctor.facts import Facts, Gpu, LiveFramework
from gpudoctor.knowledge import import_errors
from gpudoctor.knowledge.symptoms import Symptom, recognise
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known
from gpudoctor.parsers.crash_output import dying_words
from gpudoctor.queries.cause_groups import NO_LIBRARY
from gpudoctor.queries.driver import driver_words, has_nvidia_driver
from gpudoctor.queries.frameworks import first_line, last_words
from gpudoctor.queries.loading import lacks_driver_library
from gpudoctor.targets import OnLive, gpu_name
from gpudoctor.tasks import Task


def named_cause(live: LiveFramework, own: str) -> tuple[str, Symptom] | None:
    """The first line of a framework's output that names the cause, and its row; None: no line is known to.

    Libraries write before the framework raises its own error, which comes of theirs. A row that counts the same
    trouble among the reasons of its message says no more than that.

    Args:
        live: what the framework said.
        own: the name of the check that asks, in its area: "no-gpu".
    """
    error = live.error if isinstance(live.error, str) else ""
    lines = dict.fromkeys(line.strip() for line in f"{live.stderr}\n{error}".splitlines())
    known_rows = [(line, row) for line in lines if line and (row := recognise(line)) is not None]
    found = [
        (line, row)
        for line, row in known_rows
        if row.kind in _KINDS and own not in {one.partition(".")[2] for one in row.checks}
    ]
    return min(found, key=lambda one: _KINDS.index(one[1].kind), default=None)


_KINDS = ("cause", "error")


def steps_of_cause(on: OnLive, own: str, proof: Task | None) -> tuple[Fix, ...]:
    """What the row of the line that names the cause advises; empty where no line does.

    Args:
        on: the framework.
        own: the name of the check that asks, in its area.
        proof: shows that a step helped.
    """
    named = named_cause(on.live, own)
    if named is None:
        return ()
    from gpudoctor.fixes.row_steps import steps  # only where a framework fails

    return tuple(msgspec.structs.replace(step, verify=proof) for step in steps(named[1], on.facts))


def refusal(
    facts: Facts,
    name: str,
    live: LiveFramework,
    gpus: tuple[Gpu, ...],
    severity: Severity | None = None,
    by_driver: bool = False,
) -> Problem | None:
    """The problem of a framework that was built for GPUs, was imported, and uses none although one is there.

    Args:
        facts: the machine.
        name: of the framework.
        live: what it said.
        gpus: those that it is built for.
        severity: where it is not an error.
        by_driver: whether it lists them by CUDA's runtime alone.

    Raises:
        UnknownFactError: it did not come so far as to say.
    """
    if not gpus or live.import_error or live.died or live.hung or known(live.available):
        return None
    driver = f"The {driver_words(facts)} responds." if has_nvidia_driver(facts) else ""
    # Its own words are evidence: where this is a consequence, the root cause has shown them already.
    named = named_cause(live, "no-gpu")
    said = (*_once((*_evidence(live), *(named[:1] if named else ()), last_words(live))), driver)
    none = f"does not use {gpu_name(gpus[0])}" if len(gpus) == 1 else f"uses none of the {len(gpus)} GPUs"
    message = f"{name} {none}."
    cause = named[1].sentence if named else None
    others = ("libraries.overlapping-wheels",) if by_driver else ()
    return Problem(message, evidence=tuple(e for e in said if e), cause=cause, severity=severity, not_caused_by=others)


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts without those that another one holds."""
    kept: list[str] = []
    for text in texts:
        if text and not any(text in other or other in text for other in kept):
            kept.append(text)
    return tuple(kept)


def _evidence(live: LiveFramework) -> Iterator[str]:
    if isinstance(live.error, str):
        yield live.error[:1000]
    if isinstance(live.count, int) and live.count:
        yield f"It counts {live.count} GPUs through NVML but cannot use them."
    yield from live.warnings[:3]


def import_failure(name: str, live: LiveFramework) -> str | None:
    """The sentence about a framework whose import raises."""
    return f"{name} fails to import: {first_line(live.import_error)}" if live.import_error else None


# Where an import fails over Python's own matters (a package of another version), no shared library explains it.
_NATIVE = pattern(
    r"\.so\b|\.dll\b|\.dylib|DLL|WinError|undefined symbol|shared object|\bnvidia\b|dlopen", re.IGNORECASE
)


def import_problem(on: OnLive, libraries: Sequence[str] = ()) -> Problem | None:
    """The problem of a framework whose import raises, with the cause where the error's words are known.

    Args:
        on: the framework.
        libraries: ids of its checks about compiled code, which explain nothing where the error names no library.
    """
    message = import_failure(on.name, on.live)
    if message is None:
        return None
    error = on.live.import_error or ""
    hint = import_errors.hint(error)
    others = () if _NATIVE.search(error) else ("libraries.*", *libraries)
    others += () if lacks_driver_library(error) else NO_LIBRARY
    return Problem(message, evidence=(error[:1500],), cause=hint.cause if hint else None, not_caused_by=others)


_SIGNALS = {  # signal(7)
    "SIGILL": "The CPU, or the virtual machine's CPU type, lacks an instruction that this build uses.",
    "SIGKILL": "The process was killed from outside, usually by the kernel's out-of-memory (OOM) killer.",
    "SIGABRT": "A library aborted the process itself; its last output shows why.",
}


def crash(on: OnLive) -> Problem | None:
    """The problem of a framework whose process is killed by a signal, with what it wrote last."""
    live = on.live
    if live.died is None:
        return None
    early = "" if live.stage == "compile" else ", before it reports any GPU"
    message = f"{on.name} crashes with {live.died} in the stage {live.stage}{early}."
    named = named_cause(live, "crashes")
    cause = named[1].sentence if named else _SIGNALS.get(live.died)
    return Problem(message, evidence=dying_words(live.stderr), cause=cause)


_WAITS = {  # stages of facts.Live
    "start": "starting Python",
    "import": "importing",
    "version": "importing",
    "devices": "listing devices",
    "init": "initializing CUDA",
    "libraries": "loading its libraries",
    "compile": "compiling for XLA",
}


def hang(name: str, live: LiveFramework) -> str | None:
    """The sentence about a framework that hangs.

    Raises:
        UnknownFactError: it was cut short before its full time, or ended without a word.
    """
    if live.hung:
        return f"{name} hangs while {_WAITS.get(live.stage, live.stage)}."
    if live.died is None and not live.import_error and live.stage != "done":
        known(live.available)
    return None
