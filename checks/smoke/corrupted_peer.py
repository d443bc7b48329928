"""Bytes are corrupted between GPUs."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, routing
from gpudoctor.queries.smoke import OnTests, count, each, many, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import MEMORY


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    return routing(again(on.run, "peer", "allreduce"))


def _words(test: SmokeTest) -> str | None:
    number = count(test, "differing")
    return f"{many(number, 'byte')} from GPU {test.variant.replace('-', ' to ')}" if number else None


@check(
    title="Corrupted peer-to-peer copies between GPUs",
    severity=Severity.ERROR,
    cause="The driver reports that peer-to-peer copies between these GPUs are possible, but the data that arrives "
    "differs from what was sent. IOMMU translation or ACS on the PCIe switches misroutes them; a broken link is "
    "possible too.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access",
    ),
    targets=partial(smoke_tests, name="peer"),
    caused_by=(
        *MEMORY,
        "smoke.uncorrected-ecc",
        "smoke.corrupted-memory",
        "device.nvlink-fault",
        "fabric.*",
        "link.peers-redirected",
    ),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def corrupted_peer(on: OnTests) -> Problem | None:
    """Bytes of a pattern that are wrong on the destination."""
    found = each(on.tests, _words)
    if not found:
        return None
    return Problem(sentence(f"{on.name}: {'; '.join(found)} arrived corrupted."))
