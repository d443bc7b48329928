"""A matmul returned wrong results under load."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import hardware
from gpudoctor.maybe import known_or
from gpudoctor.queries.smoke import OnTests, count, dtype_of, each, many, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before
from gpudoctor.queries.smoke.errors import kind_of


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return hardware(on.facts, on.run, on.gpu)


def _wrong(test: SmokeTest) -> str | None:
    differing, lost = count(test, "wrong"), count(test, "not_finite")
    error = test.figure("error")
    if error is not None and kind_of(dtype_of(test), error) == "wrong":
        return f"the first matmul already has a relative error of {error:.1e} in {dtype_of(test)}"
    if not differing and not lost:
        return None
    numbers = f", {lost} of them not finite" if lost else ""
    of = f"{count(test, 'products')} repetitions of one matmul"
    return f"{many(differing or lost, 'element')} differed in {of}{numbers}"


def _state(test: SmokeTest) -> str:
    heat, clock = known_or(test.during.temperature, None), known_or(test.during.sm_clock, None)
    parts = [f"{heat:.0f} degrees C" if heat else "", f"{clock:.0f} MHz" if clock else ""]
    state = " and ".join(filter(None, parts))
    return f" at {state}" if state else ""


@check(
    title="Wrong matmul results under load",
    severity=Severity.ERROR,
    cause="The same matmul was repeated at full load, and its bits changed: clocks too high for the voltage, heat, a "
    "weak power supply, or a failing card. Training on it silently produces wrong results.",
    fixes=_fixes,
    references=("https://github.com/wilicc/gpu-burn", "https://arxiv.org/abs/2102.11245"),
    targets=partial(smoke_tests, name="stress"),
    caused_by=(*wrong_before("smoke.unstable-product"), "health.overheated", "smoke.throttled"),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def unstable_product(on: OnTests) -> Problem | None:
    """Counts of elements that differ from the first result, and of those that are not finite."""
    found = each(on.tests, _wrong)
    if not found:
        return None
    return Problem(sentence(f"{on.name}, under load{_state(on.tests[0])}: {'; '.join(found)}."))
