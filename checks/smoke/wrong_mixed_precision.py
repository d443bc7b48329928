"""A training step in mixed precision is wrong."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, hardware, updated
from gpudoctor.queries.smoke import OnTests, count, dtype_of, each, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before

# On a CPU the worst gradient of the step in bf16 is off by 2.3e-2 (PyTorch), 2.5e-2 (JAX) and 7.5e-2 (TensorFlow, which
# keeps more in bf16), the loss by 1.6e-4; fp16 has three bits more. Images shifted by a pixel give 3e-1.
_LOSS = 2e-3
_GRADIENT = {"bf16": 0.15, "fp16": 0.03}
_HALVINGS = 2  # of the loss scale, from 65536; more means that gradients really overflow


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    newer = updated(on.facts, on.run, again(on.run, "mixed-precision"))
    return (*newer, *hardware(on.facts, on.run, on.gpu)[:2])


def _wrong(test: SmokeTest) -> str | None:
    dtype = dtype_of(test)
    if count(test, "not_finite"):
        return f"{count(test, 'not_finite')} gradients in {dtype} are Inf or NaN"
    if count(test, "skipped") > _HALVINGS:
        return f"the loss scale was halved {count(test, 'skipped')} times"
    loss, gradient = test.figure("loss error"), test.figure("gradient error")
    if loss is not None and not loss <= _LOSS:
        return f"the loss in {dtype} is off by {loss:.1e}"
    bound = _GRADIENT.get(dtype)
    if gradient is not None and bound is not None and not gradient <= bound:
        return f"gradients in {dtype} are off by {gradient:.1e}; the type's rounding explains up to {bound:g}"
    return None


@check(
    title="Wrong results in mixed precision training",
    severity=Severity.ERROR,
    cause="Loss or gradients differ from float64 by more than the 16-bit type's rounding, or overflow. If the float32 "
    "step is right, kernels for the 16-bit type are wrong.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/amp.html", "https://arxiv.org/abs/1710.03740"),
    targets=partial(smoke_tests, name="mixed-precision", figure="gradient error"),
    caused_by=wrong_before("smoke.wrong-mixed-precision"),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def wrong_mixed_precision(on: OnTests) -> Problem | None:
    """Loss, worst gradient, overflow."""
    found = each(on.tests, _wrong)
    if not found:
        return None
    return Problem(sentence(f"{on.name} computes wrong training steps in mixed precision: {'; '.join(found)}."))
