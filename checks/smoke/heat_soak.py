"""The GPU slows down under sustained load."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import LONG, again, clocks
from gpudoctor.maybe import known_or
from gpudoctor.queries.smoke import OnTests, each, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.speed import idle
from gpudoctor.tasks import query

_LESS = 0.90


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    message = (
        "Improve airflow: clean fans and filters, check the airflow of the case or server; then run a longer load."
    )
    command = query(*again(on.run, "stress").argv, *LONG)
    return clocks(on.gpu, on.run), Fix(message, (command,), "improve-cooling", verify=command)


def _slower(test: SmokeTest) -> str | None:
    ratio = test.figure("last third")
    if ratio is None or ratio >= _LESS:
        return None
    heat = known_or(test.during.temperature, None)
    degrees = f", at {heat:.0f} degrees C" if heat is not None else ""
    return f"the last third of the load ran at {ratio:.0%} of the first{degrees}"


@check(
    title="GPU slows down under sustained load",
    severity=Severity.WARNING,
    cause="As it heats up it lowers its clocks. A well-cooled card keeps its speed for ten seconds; hours of training "
    "lose at least what was lost in those ten.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html",),
    targets=partial(gpu_tests, name="stress", figure="last third"),
    caused_by=SLOW,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def heat_soak(on: OnTests) -> Problem | None:
    """The rate at the end over the rate at the beginning."""
    found = each(on.tests, _slower)
    if not found:
        return None
    idle(on.facts, on.run)
    return Problem(sentence(f"{on.name}: {'; '.join(found)}."))
