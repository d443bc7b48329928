"""The IOMMU translates every access between AMD's cards (no passthrough mode)."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.amd import passthrough
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.amd_boards import INSTINCT, discrete
from gpudoctor.queries.kernel_log import ago, events, texts
from gpudoctor.targets import amd_compute, in_container


@check(
    title="IOMMU is not in passthrough mode (iommu=pt)",
    severity=Severity.ADVICE,
    cause="AMD recommends IOMMU passthrough mode (iommu=pt) on machines with several GPUs: with translation, "
    "peer-to-peer (P2P) transfers between cards and to network adapters are slower, or the IOMMU refuses them "
    "(IO_PAGE_FAULT) and RCCL collectives hang.",
    fixes=passthrough,
    references=(
        "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/conceptual/iommu.html",
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/install-faq.html",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded", "rocm.not-driven"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def iommu_translates(facts: Facts) -> Problem | None:
    """Two or more cards that the IOMMU refused accesses; of Instinct on bare metal a domain that translates counts."""
    refused = _refused(facts)
    if refused:
        return refused
    if in_container(facts) or isinstance(facts.host.virtual, str):
        return None
    cards = [on for on in discrete(facts) if on.gfx in INSTINCT]
    if len(cards) < 2:
        return None
    kinds = [known(on.card.iommu) for on in cards]
    translated = [kind for kind in kinds if kind is not None and kind.startswith("DMA")]
    if not translated:
        return None
    return Problem(
        f"The IOMMU translates for {len(translated)} of {len(cards)} Instinct cards (domain type {translated[0]}).",
        phrases(phrase("{}/iommu_group/type: {}", cards[0].address, kinds[0])),
    )


def _refused(facts: Facts) -> Problem | None:
    """The IOMMU logged faults of a card that has a peer; in passthrough mode it translates nothing and logs none."""
    addresses = [on.address for on in discrete(facts) if on.card.iommu != "identity"]
    logged = tuple(e for e in events(facts, "iommu-fault") if e.gpu in addresses)
    if len(addresses) < 2 or not logged:
        return None
    who = " and ".join(dict.fromkeys(e.gpu for e in logged if e.gpu))
    faults = "1 page fault" if len(logged) == 1 else f"{len(logged)} page faults"
    message = (
        f"The IOMMU translates, and refused accesses of {who}: {faults}{ago(facts, logged[-1])}. "
        "Transfers between the GPUs fail or hang."
    )
    return Problem(message, texts(logged), severity=Severity.WARNING)
