"""16-bit matmuls run at CUDA core speed."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, clocks, updated
from gpudoctor.queries.smoke import OnTests, dtype_of, each, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.speed import product_lines, share

# The CUDA cores' own rate in 16 bits is 0.14 of the tensor cores' on an H100, 0.25 on an A100; a library that falls
# back on them reaches part of that.
_IDLE = 0.20
_TYPES = ("fp16", "bf16")


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    newer = updated(on.facts, on.run, again(on.run, "matmul"))
    return (*newer, clocks(on.gpu, on.run))


def _idle(on: OnTests, test: SmokeTest) -> str | None:
    if dtype_of(test) not in _TYPES or product_lines(on.on, dtype_of(test)) is None:
        return None
    reached = share(on.on, test, "rate")
    return f"{dtype_of(test)} {reached.words}" if reached and reached.part < _IDLE else None


@check(
    title="Tensor cores are not used",
    severity=Severity.ERROR,
    cause="16-bit matmuls run as slowly as on the CUDA cores: the library has no tensor core kernel for this GPU, or "
    "is configured not to use it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#arithmetic-instructions",
    ),
    targets=partial(gpu_tests, name="matmul", figure="rate"),
    caused_by=(*SLOW, "pytorch.arch-missing", "tensorflow.arch-missing", "cupy.arch-missing", "jax.arch-missing"),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def tensor_cores_idle(on: OnTests) -> Problem | None:
    """fp16 and bf16 at less than a fifth of what the tensor cores do."""
    if on.run.backend == "driver":
        return None
    found = each(on.tests, lambda test: _idle(on, test))
    if not found:
        return None
    return Problem(sentence(f"{on.name} runs matmul as if there were no tensor cores: {'; '.join(found)}."))
