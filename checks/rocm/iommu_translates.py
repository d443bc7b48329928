"""The IOMMU translates every access between Instinct cards (no passthrough mode)."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.amd import passthrough
from gpudoctor.maybe import known, phrase, phrases
from gpudoctor.queries.amd_boards import INSTINCT, discrete
from gpudoctor.targets import amd_compute, in_container


@check(
    title="IOMMU is not in passthrough mode (iommu=pt) for Instinct GPUs",
    severity=Severity.ADVICE,
    cause="AMD recommends IOMMU passthrough mode (iommu=pt) on nodes with several Instinct cards: with translation, "
    "transfers between cards and to network adapters are slower, and RCCL collectives have been seen to hang.",
    fixes=passthrough,
    references=(
        "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/conceptual/iommu.html",
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/install-faq.html",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded", "rocm.not-driven"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def iommu_translates(facts: Facts) -> Problem | None:
    """Two or more such cards on bare metal, with an IOMMU domain that translates."""
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
