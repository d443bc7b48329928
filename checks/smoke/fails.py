"""A test raised an error."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeRun
from gpudoctor.fixes.smoke import again, between, updated
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke.cause_groups import MEMORY, NOT_RUNNING


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    tests = [test.name for test in ended(on.run, "failed")]
    verify = again(on.run, *tests)
    message = "Run it again on its own, and look up the framework's error message."
    return (
        *between(on.run, *tests),
        *updated(on.facts, on.run, verify),
        Fix(message, (verify,), impact="none", verify=verify),
    )


@check(
    title="A smoke test raised an error",
    severity=Severity.ERROR,
    cause="The framework failed at a basic operation; its error message shows why. A missing library or a version "
    "mismatch is the usual cause.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/faq.html",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, *MEMORY, "host.*", "smoke.device-error", "smoke.out-of-memory"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fails(on: OnRun) -> Problem | None:
    """Errors that have no check of their own."""
    tests = [t for t in ended(on.run, "failed") if t.error in (None, "other") and t.name != "fused"]
    if tests:
        names = ", ".join(dict.fromkeys(called(test) for test in tests))
        lines = tests[0].message.strip().splitlines() or ["no error message"]
        return Problem(sentence(f"{on.name} failed in {names}: {quoted(lines[-1])}"), tuple(lines[:-1][-4:]))
    if not _itself(on.run):
        return None
    lines = on.run.message.strip().splitlines() or ["no error message"]
    return Problem(sentence(f"{on.name} failed in stage {on.run.stage}: {quoted(lines[-1])}"), tuple(lines[:-1][-4:]))


def _itself(run: SmokeRun) -> bool:
    """Whether the run failed as a whole, but not on import."""
    return run.outcome == "failed" and run.error in (None, "other") and run.stage != "import"
