"""A training step is wrong."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, hardware, updated
from gpudoctor.queries.smoke import OnTests, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before
from gpudoctor.queries.smoke.training import faults, inexact, is_tf32, may_be_tf32

_EITHER = (
    "Every gradient is slightly off. Convolutions in TF32 cause that although it was disabled for them, and so does a "
    "fault that loses an image or flips a bit; the float32 matmuls were exact."
)


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    newer = updated(on.facts, on.run, again(on.run, "mnist"))
    return (*hardware(on.facts, on.run, on.gpu)[:2], *newer)


@check(
    title="Wrong results in a training step",
    severity=Severity.ERROR,
    cause="Loss, gradients or updated weights of a small network differ from float64 by more than float32 rounding. "
    "Matmul alone may be right: this also tests convolutions, reductions and the optimizer.",
    fixes=_fixes,
    references=(
        "https://arxiv.org/abs/2102.11245",
        "https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html",
    ),
    targets=partial(smoke_tests, name="mnist", figure="gradient error"),
    caused_by=wrong_before("smoke.wrong-training"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def wrong_training(on: OnTests) -> Problem | None:
    """Loss, each gradient, the step, and whether the loss falls as the gradient predicts."""
    (test, *_) = on.tests
    found = faults(on, test)
    if found:
        unsure = may_be_tf32(on, test) and not is_tf32(on, test) and len(found) == 1
        message = sentence(f"{on.name} computes wrong training steps: {'; '.join(found)}.")
        return Problem(message, cause=_EITHER if unsure else None, severity=Severity.WARNING if unsure else None)
    less = None if is_tf32(on, test) else inexact(test)
    if less is None:
        return None
    return Problem(sentence(f"{on.name} trains less precisely than float32: {less}."), severity=Severity.WARNING)
