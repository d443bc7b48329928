"""Mixed precision has no effect."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, dtype_of, each, sentence, smoke_tests

# bf16 and fp16 change gradients by 1e-3 and more; pure float32, computed twice, by 1e-6.
_NOTHING = 1e-5


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "mixed-precision")
    message = "Find out what disables autocast: a wrapper, a context that exits too early, or another device type."
    return (Fix(message, (), "change-environment", verify=verify),)


def _idle(test: SmokeTest) -> str | None:
    difference = test.figure("difference")
    return dtype_of(test) if difference is not None and difference <= _NOTHING else None


@check(
    title="Mixed precision (autocast) has no effect",
    severity=Severity.WARNING,
    cause="Under autocast the step returns the same numbers as float32: nothing was computed in 16 bits, so nothing "
    "gets faster and no memory is saved.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/amp.html",),
    targets=partial(smoke_tests, name="mixed-precision", figure="difference"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def autocast_idle(on: OnTests) -> Problem | None:
    """The step in 16 bits against the one in float32."""
    found = each(on.tests, _idle)
    if not found:
        return None
    message = f"{on.name} gets the same numbers from its {', '.join(found)} step as from float32."
    return Problem(sentence(message))
