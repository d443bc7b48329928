"""A test's process died."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.parsers.crash_output import dying_words
from gpudoctor.queries.smoke import OnRun, called, ended, sentence, smoke_runs
from gpudoctor.queries.smoke.cause_groups import MEMORY, NOT_RUNNING


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    verify = again(on.run, *(test.name for test in ended(on.run, "died")))
    message = "Run it again, and read its last lines of output: Python shows where it crashed."
    return (Fix(message, (verify,), impact="none", verify=verify), *updated(on.facts, on.run, verify))


@check(
    title="A smoke test crashed",
    severity=Severity.ERROR,
    cause="The process was killed by a signal: native code of the framework, its libraries or the driver crashed. "
    "Mismatched libraries are the usual cause.",
    fixes=_fixes,
    references=("https://man7.org/linux/man-pages/man7/signal.7.html",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, *MEMORY, "host.shm-small", "smoke.uncorrected-ecc"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def crashes(on: OnRun) -> Problem | None:
    """Died for another reason than lack of memory."""
    died = [test for test in ended(on.run, "died") if test.error != "out-of-memory"]
    seen = dying_words(on.run.stderr)
    if died:
        names = ", ".join(dict.fromkeys(called(test) for test in died))
        return Problem(sentence(f"{on.name} crashed in {names}: {died[0].message or 'its process died.'}"), seen)
    if on.run.outcome != "died" or on.run.error == "out-of-memory":
        return None
    message = f"{on.name} crashed in stage {on.run.stage}: {on.run.message or 'its process died.'}"
    return Problem(sentence(message), seen)
