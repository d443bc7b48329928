"""A kernel did not wait for the copy that it depends on."""

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
    return many(number, "element") if number else None


@check(
    title="Kernel did not wait for the copy it depends on",
    severity=Severity.ERROR,
    cause="A kernel on one stream waited for an event after a copy on another stream, but still computed with other "
    "data: the driver or the framework does not keep the order, or the copy was corrupted.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#events",),
    targets=partial(smoke_tests, name="overlap"),
    caused_by=wrong_before("smoke.wrong-order"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def wrong_order(on: OnTests) -> Problem | None:
    """Elements that the kernel computed from other data than was copied."""
    found = each(on.tests, _wrong)
    if not found:
        return None
    message = f"{on.name} computed {'; '.join(found)} from other data than was copied."
    return Problem(sentence(message))
