"""A framework under test fails to import."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.knowledge import import_errors
from gpudoctor.queries.smoke import OnRun, backend_name, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke.cause_groups import NOT_RUNNING


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    hint = import_errors.hint(on.run.message)
    verify = again(on.run)
    first = (Fix(hint.fix, action="reinstall-package", verify=verify),) if hint and hint.fix else ()
    rest = updated(on.facts, on.run, verify)
    return (*first, *rest) or (Fix("Reinstall it in this environment.", (), "reinstall-package", verify=verify),)


@check(
    title="Import of a framework under test fails",
    severity=Severity.ERROR,
    cause="One of its libraries or dependencies is missing, damaged or has the wrong version.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/exceptions.html#ImportError",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, "host.*"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def import_fails(on: OnRun) -> Problem | None:
    """The run ended in its first stage."""
    if on.run.outcome != "failed" or on.run.stage != "import":
        return None
    lines = on.run.message.strip().splitlines() or ["no error message"]
    message = f"{backend_name(on.run)} could not be imported with {on.run.python or 'its Python'}: {quoted(lines[-1])}"
    return Problem(sentence(message), tuple(lines[:-1][-4:]))
