"""Copies are much slower in one direction."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.gpus import has_slot
from gpudoctor.queries.smoke import OnTests, gpu_tests, sentence
from gpudoctor.queries.smoke.cause_groups import LINK
from gpudoctor.queries.smoke.speed import idle
from gpudoctor.tasks import query

# nvbandwidth's and others' results differ by 1 to 6 percent between the directions.
_UNEVEN, _VERY = 0.15, 0.50


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    message = (
        "Check relaxed ordering, IOMMU and NUMA settings in the BIOS/UEFI setup, and run the program on the CPUs of "
        "the GPU's NUMA node."
    )
    return (Fix(message, (query("nvidia-smi", "topo", "-m"),), needs="reboot", verify=again(on.run, "transfer")),)


@check(
    title="Copies are much slower in one direction",
    severity=Severity.WARNING,
    cause="A PCIe link has the same rate in both directions. If one is far slower, the host side is the bottleneck: "
    "memory on a remote NUMA node, the IOMMU, or write ordering.",
    fixes=_fixes,
    references=("https://github.com/NVIDIA/nvbandwidth",),
    targets=partial(gpu_tests, name="transfer", figure="h2d pinned"),
    caused_by=(*LINK, "smoke.slow-link", "smoke.memory-not-pinned"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def uneven_link(on: OnTests) -> Problem | None:
    """Pinned copies to the GPU and back."""
    (test, *_) = on.tests
    there, back = test.figure("h2d pinned") or 0.0, test.figure("d2h pinned") or 0.0
    larger = max(there, back)
    if not there or not back or larger - min(there, back) <= _UNEVEN * larger:
        return None
    if on.gpu is not None and not has_slot(on.facts, on.gpu):
        return None
    idle(on.facts, on.run)
    message = f"{on.name} copies at {there:.1f} GB/s to the GPU but {back:.1f} GB/s to the host."
    very = larger - min(there, back) > _VERY * larger
    return Problem(sentence(message), severity=None if very else Severity.ADVICE)
