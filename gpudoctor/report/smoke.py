"""The smoke tests' part of the report: each figure with the limit that it is held against."""

import msgspec

from gpudoctor.facts import Facts, Figure, SmokeRun, SmokeTest
from gpudoctor.report.model import FigureEntry, SmokeEntry, SmokeTestEntry
from gpudoctor.views.smoke_limits import limit
from gpudoctor.views.smoke_speed import busy


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
        says=run.says,
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
        says=test.says,
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
