"""The same matmul returns different bits the second time."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import hardware
from gpudoctor.queries.smoke import OnTests, count, dtype_of, each, gpu_tests, many, sentence
from gpudoctor.queries.smoke.cause_groups import wrong_before

# These call cuBLAS with one stream, for which it guarantees the same bits. Compilers (XLA) and rocBLAS, which may sum
# with atomic additions, guarantee less.
_PROMISED = ("pytorch", "cupy", "driver")


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return hardware(on.facts, on.run, on.gpu)


def _differing(test: SmokeTest) -> str | None:
    number = count(test, "not_repeated")
    return f"{many(number, 'element')} in {dtype_of(test)}" if number else None


@check(
    title="Repeated matmul gives different results",
    severity=Severity.ERROR,
    cause="cuBLAS returns the same bits for the same matmul on the same GPU every time. If it does not, arithmetic or "
    "memory occasionally flips bits: overclocking, heat, a weak power supply or a broken card.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cublas/index.html#results-reproducibility",),
    targets=partial(gpu_tests, name="matmul", figure="rate"),
    caused_by=wrong_before("smoke.not-reproducible"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def not_reproducible(on: OnTests) -> Problem | None:
    """The first matmul compared with the last, bit for bit, with the same inputs."""
    found = each(on.tests, _differing)
    if not found:
        return None
    sure = on.run.kind == "cuda" and on.run.backend in _PROMISED
    message = f"{on.name} got different bits from the same matmul: {'; '.join(found)}."
    return Problem(sentence(message), severity=None if sure else Severity.WARNING)
