"""A test raised an error."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeRun
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke_cause_groups import MEMORY, NOT_RUNNING


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    verify = again(on.run, *(test.name for test in ended(on.run, "failed")))
    message = "Run it again by itself, and look for the framework's own words in its documentation."
    return (*updated(on.facts, on.run, verify), Fix(message, (verify,), impact="none", verify=verify))


@check(
    title="A smoke test raised an error",
    severity=Severity.ERROR,
    cause="The framework could not do what every program asks of it; its own words say why. A library that is "
    "missing or of another version is the usual cause.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, *MEMORY, "host.*", "smoke.device-error", "smoke.out-of-memory"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fails(on: OnRun) -> Problem | None:
    """Errors of other kinds than those that have checks of their own."""
    tests = [t for t in ended(on.run, "failed") if t.error in (None, "other") and t.name != "fused"]
    if tests:
        names = ", ".join(dict.fromkeys(called(test) for test in tests))
        lines = tests[0].message.strip().splitlines() or ["it said no more"]
        return Problem(sentence(f"{on.name} failed in {names}: {quoted(lines[-1])}"), tuple(lines[:-1][-4:]))
    if not _itself(on.run):
        return None
    lines = on.run.message.strip().splitlines() or ["it said no more"]
    return Problem(
        sentence(f"{on.name} failed in the stage {on.run.stage}: {quoted(lines[-1])}"), tuple(lines[:-1][-4:])
    )


def _itself(run: SmokeRun) -> bool:
    """Whether the run failed as a whole, and not in the import."""
    return run.outcome == "failed" and run.error in (None, "other") and run.stage != "import"
