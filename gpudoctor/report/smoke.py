"""The smoke tests' part of the report: each figure with the limit that it is held against."""

import msgspec

from gpudoctor.facts import Facts, Figure, SmokeRun, SmokeTest
from gpudoctor.queries.smoke.limits import limit
from gpudoctor.queries.smoke.speed import busy
from gpudoctor.report.model import FigureEntry, SmokeEntry, SmokeTestEntry, UnknownEntry

# No check's ID: nothing was tested.
NOT_TESTED = "smoke.not-tested"
# Who runs the smoke tests asks whether the GPU works: that the CPU does is no answer.
NO_GPU = UnknownEntry(
    check=NOT_TESTED,
    subject="GPU",
    reason="No GPU that can run the tests was found, so nothing is proven about a GPU.",
    essential=True,
)


def gaps(facts: Facts) -> tuple[UnknownEntry, ...]:
    """What keeps a run from being a proof: no GPU, a backend that could run none of the tests, an early end."""
    runs = facts.smoke.runs
    idle = [b for b in dict.fromkeys(r.backend for r in runs) if not _worked([r for r in runs if r.backend == b])]
    entries = [_idle(next(run for run in runs if run.backend == backend)) for backend in idle]
    entries += [_stopped(run) for run in runs if run.outcome == "stopped" and run.backend not in idle]
    return (*([NO_GPU] if facts.smoke.instead else []), *entries)


def _worked(runs: list[SmokeRun]) -> bool:
    return any(test.outcome == "done" for run in runs for test in run.tests)


def _idle(run: SmokeRun) -> UnknownEntry:
    whys = [run.message, *(test.message for test in run.tests)]
    why = next((why for why in whys if why), "no reason was given")
    return _gap(run, NOT_TESTED, f"None of the tests could run: {why}")


def _stopped(run: SmokeRun) -> UnknownEntry:
    return _gap(run, "smoke.hangs", f"Not all tests ran: {run.message}")


def _gap(run: SmokeRun, check: str, reason: str) -> UnknownEntry:
    return UnknownEntry(check=check, subject=f"{run.backend} on {run.label}", reason=reason, essential=True)


def smoke_entries(facts: Facts) -> tuple[SmokeEntry, ...]:
    """One entry for each backend on each device, in the order in which they ran."""
    return tuple(_run(facts, run) for run in facts.smoke.runs)


def _run(facts: Facts, run: SmokeRun) -> SmokeEntry:
    return SmokeEntry(
        backend=run.backend,
        device=run.label,
        kind=run.kind,
        python=run.python,
        outcome=run.outcome,
        message=run.message,
        version=run.version,
        name=run.name,
        gpu=run.gpu,
        busy=busy(run),
        import_seconds=run.import_seconds,
        start_seconds=run.start_seconds,
        digits=facts.smoke.digits,
        tests=tuple(_test(facts, run, test) for test in run.tests),
    )


def _test(facts: Facts, run: SmokeRun, test: SmokeTest) -> SmokeTestEntry:
    return SmokeTestEntry(
        test=test.name,
        variant=test.variant,
        outcome=test.outcome,
        message=test.message,
        seconds=test.seconds,
        figures=tuple(_figure(facts, run, test, figure) for figure in test.figures),
        notes=test.notes,
        during=msgspec.to_builtins(test.during) if test.during.samples else {},
    )


def _figure(facts: Facts, run: SmokeRun, test: SmokeTest, figure: Figure) -> FigureEntry:
    most = limit(facts, run, test, figure.name)
    return FigureEntry(
        name=figure.name,
        value=figure.value,
        unit=figure.unit,
        samples=figure.samples,
        method=figure.method,
        limit=most.value if most else None,
        limit_source=most.source if most else None,
    )
