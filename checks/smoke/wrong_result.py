"""Matmul results are wrong."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import hardware
from gpudoctor.queries.smoke import OnTests, each, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before
from gpudoctor.queries.smoke.errors import wrong


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return hardware(on.facts, on.run, on.gpu)


@check(
    title="Wrong matmul results",
    severity=Severity.ERROR,
    cause="The result differs from float64 by more than rounding in its data type. Broken or overclocked hardware, "
    "memory bit flips, or a kernel compiled for another chip cause that; training then silently produces wrong "
    "results.",
    fixes=_fixes,
    references=(
        "https://arxiv.org/abs/2102.11245",
        "https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html",
    ),
    targets=partial(smoke_tests, name="matmul", figure="error"),
    caused_by=(
        *wrong_before("smoke.wrong-result"),
        "rocm.override-of-another-isa",
        "rocm.override-left-on",
    ),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def wrong_result(on: OnTests) -> Problem | None:
    """The whole result by random projections, each row by itself, and a part of the large matmul."""
    found = each(on.tests, wrong)
    if not found:
        return None
    return Problem(sentence(f"{on.name} computes wrong matmul results: {'; '.join(found)}."))
