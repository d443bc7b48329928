"""Copies are much slower one way than the other."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.gpus import has_slot
from gpudoctor.queries.smoke import OnTests, gpu_tests, sentence
from gpudoctor.queries.smoke_cause_groups import LINK
from gpudoctor.queries.smoke_speed import idle
from gpudoctor.tasks import query

# nvbandwidth's and others' results differ by 1 to 6 per cent between the ways.
_UNEVEN, _VERY = 0.15, 0.50


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    message = (
        "Look in the firmware's set-up (BIOS) for relaxed ordering, the IOMMU and NUMA settings, and run the program "
        "on the processor that the GPU hangs on."
    )
    return (Fix(message, (query("nvidia-smi", "topo", "-m"),), needs="reboot", verify=again(on.run, "transfer")),)


@check(
    title="Copies are much slower one way than the other",
    severity=Severity.WARNING,
    cause="A PCIe link carries as much in both directions. Where one is far slower, the host's side holds it up: "
    "the far processor's memory, an IOMMU, or writes that have to keep their order.",
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
    most = max(there, back)
    if not there or not back or most - min(there, back) <= _UNEVEN * most:
        return None
    if on.gpu is not None and not has_slot(on.facts, on.gpu):
        return None
    idle(on.facts, on.run)
    message = f"{on.name} copies {there:.1f} GB/s to the GPU and {back:.1f} GB/s to the host."
    very = most - min(there, back) > _VERY * most
    return Problem(sentence(message), severity=None if very else Severity.ADVICE)
