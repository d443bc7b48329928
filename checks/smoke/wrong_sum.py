"""An all-reduce over GPUs is wrong."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import paths
from gpudoctor.queries.smoke import OnTests, count, each, many, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import MEMORY


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return (paths(on.run, "allreduce", "peer"),)


def _text(test: SmokeTest) -> str | None:
    number = count(test, "wrong")
    if not number:
        return None
    return (
        f"{many(number, 'element')} over {count(test, 'ranks')} ranks with "
        f"{test.notes.get('transport') or 'an unknown transport'}"
    )


@check(
    title="Wrong all-reduce result",
    severity=Severity.ERROR,
    cause="Each process contributed a small integer, whose sum is exact, but the result differs. Copies between GPUs "
    "are corrupted (IOMMU, ACS, a broken link), or the library mixes up buffers: multi-GPU training diverges.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",),
    targets=partial(smoke_tests, name="allreduce"),
    caused_by=(
        *MEMORY,
        "smoke.uncorrected-ecc",
        "smoke.corrupted-memory",
        "smoke.corrupted-peer",
        "device.nvlink-fault",
        "fabric.*",
    ),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def wrong_sum(on: OnTests) -> Problem | None:
    """Elements that are not n (n + 1) / 2."""
    found = each(on.tests, _text)
    return Problem(sentence(f"{on.name} computes a wrong all-reduce: {'; '.join(found)}.")) if found else None
