"""A forward pass differs from the CPU."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, hardware, updated
from gpudoctor.queries.smoke import OnTests, dtype_of, each, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before

# float32 on both sides differs by 1e-6; bf16 keeps eight bits through four layers.
_MOST = {"fp32": 1e-4, "bf16": 3e-2, "fp16": 1e-2}


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    newer = updated(on.facts, on.run, again(on.run, "inference"))
    return (*hardware(on.facts, on.run, on.gpu)[:2], *newer)


def _wrong(test: SmokeTest) -> str | None:
    error, bound = test.figure("error"), _MOST.get(dtype_of(test))
    if error is None or bound is None or error <= bound:
        return None
    return f"{error:.1e} in {dtype_of(test)}, where rounding explains up to {bound:.0e}"


@check(
    title="Inference differs from the CPU",
    severity=Severity.ERROR,
    cause="The same network with the same weights returns different outputs on this device: a kernel is wrong, or "
    "data was corrupted on the way.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html",),
    targets=partial(smoke_tests, name="inference", figure="error"),
    caused_by=wrong_before("smoke.wrong-inference"),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def wrong_inference(on: OnTests) -> Problem | None:
    """The outputs for the large batch."""
    found = each(on.tests, _wrong)
    if not found:
        return None
    message = f"{on.name} differs from the CPU reference in inference: the outputs are off by {'; '.join(found)}."
    return Problem(sentence(message))
