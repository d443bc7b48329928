"""Matmul is slower than this GPU allows at this clock."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, clocks, updated
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.smoke import OnTests, dtype_of, each, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.limits import FEWEST_WAVES, waves
from gpudoctor.queries.smoke.speed import product_lines, share


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return clocks(on.gpu, on.run), *updated(on.facts, on.run, again(on.run, "matmul"))


def _slow(on: OnTests, test: SmokeTest) -> tuple[Severity, str] | None:
    dtype = dtype_of(test)
    reached = share(on.on, test, "rate")
    lines = product_lines(on.on, dtype)
    if reached is None:
        return None
    if lines is None:
        raise UnknownFactError(f"no reference value for {dtype} on this GPU has been published")
    filled = waves(on.run.processors, test) if on.run.processors else None
    if filled is not None and filled < FEWEST_WAVES:
        raise UnknownFactError(f"the {dtype} matmul was too small to fill the GPU")
    severity = lines.severity(reached.part)
    return (severity, f"{dtype} {reached.words}") if severity else None


@check(
    title="Slow matmul",
    severity=Severity.ERROR,
    cause="The rate is far below what this number of multiprocessors can compute at the observed clock: a slow "
    "fallback kernel runs (a library without code for this GPU), or others share the GPU.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
        "https://github.com/stas00/ml-engineering/tree/master/compute/accelerator",
    ),
    targets=partial(gpu_tests, name="matmul", figure="rate"),
    caused_by=(
        *SLOW,
        "smoke.tensor-cores-idle",
        "pytorch.arch-missing",
        "tensorflow.arch-missing",
        "cupy.arch-missing",
        "jax.arch-missing",
    ),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def slow_matmul(on: OnTests) -> Problem | None:
    """Each data type compared with the multiprocessors' rate; a bare driver's simple kernels are not judged."""
    if on.run.backend == "driver":
        return None
    found = each(on.tests, lambda test: _slow(on, test))
    if not found:
        return None
    worst = Severity.ERROR if Severity.ERROR in [severity for severity, _ in found] else Severity.WARNING
    message = f"{on.name} has slow matmul: {'; '.join(text for _, text in found)}."
    return Problem(sentence(message), severity=worst)
