"""The device's memory does not keep what was written."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import hardware
from gpudoctor.queries.smoke import OnTests, count, each, many, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return hardware(on.facts, on.run, on.gpu)


def _wrong(test: SmokeTest) -> str | None:
    number = count(test, "wrong")
    return f"{many(number, 'element')} of long vectors differ from what was written" if number else None


@check(
    title="Device memory returns wrong data",
    severity=Severity.ERROR,
    cause="Vectors of small integers were copied and added, which is exact, but the results differ: memory chips or "
    "their controller are failing or overclocked.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",),
    targets=partial(smoke_tests, name="bandwidth"),
    caused_by=wrong_before("smoke.corrupted-memory"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def corrupted_memory(on: OnTests) -> Problem | None:
    """Elements that are wrong after the copy and the triad."""
    found = each(on.tests, _wrong)
    return Problem(sentence(f"{on.name}: {'; '.join(found)}.")) if found else None
