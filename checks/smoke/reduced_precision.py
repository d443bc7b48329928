"""16-bit matmuls accumulate in 16 bits."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, dtype_of, each, gpu_tests, sentence
from gpudoctor.queries.smoke.errors import BOUNDS, errors, kinds
from gpudoctor.tasks import code


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "matmul")
    if on.run.backend != "pytorch":
        return (Fix("Request float32 accumulation where precision matters.", verify=verify),)
    lines = (
        code("torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False"),
        code("torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False"),
    )
    return (Fix("Disable it in the program where precision matters.", lines, "change-environment", verify=verify),)


def _text(test: SmokeTest) -> str | None:
    if "reduced" not in kinds(test):
        return None
    dtype = dtype_of(test)
    return f"{max(errors(test)):.1e} in {dtype}; {BOUNDS[dtype].rounding:.0e} is usual"


@check(
    title="Reduced-precision accumulation in 16-bit or 8-bit matmuls",
    severity=Severity.ADVICE,
    cause="Partial sums are rounded to 16 bits before they are added (split-K with reduced-precision reduction). It "
    "is faster, enabled by default in PyTorch, and harmless for most training.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#reduced-precision-reduction-in-fp16-gemms",
        "https://github.com/pytorch/pytorch/pull/89172",
    ),
    targets=partial(gpu_tests, name="matmul", figure="error"),
    caused_by=("smoke.wrong-result",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def reduced_precision(on: OnTests) -> Problem | None:
    """An error between that of float32 accumulation and a clearly wrong one."""
    found = each(on.tests, _text)
    if not found:
        return None
    return Problem(sentence(f"{on.name} accumulates in reduced precision: the relative error is {'; '.join(found)}."))
