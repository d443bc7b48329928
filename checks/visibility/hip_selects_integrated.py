"""A mask leaves only the integrated GPU."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import amd_fixes
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.visibility import amd_masks
from gpudoctor.targets import amd_compute


@check(
    title="HIP_VISIBLE_DEVICES selects the integrated GPU (iGPU), not the graphics card",
    severity=Severity.WARNING,
    cause="The mask leaves only the CPU's integrated GPU (iGPU), for which ROCm's libraries often have no kernels: "
    "programs then fail with 'invalid device function' or hang. Indices differ from machine to machine, so a value "
    "copied from a guide may select the wrong device.",
    fixes=amd_fixes,
    references=(
        "https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",
        "https://github.com/ROCm/rocm-cli/issues/395",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    validated_on=("simulated 2026-11",),
    vendor="amd",
)
def hip_selects_integrated(facts: Facts) -> Problem | None:
    """Everything that the masks leave is integrated, and there is a discrete GPU."""
    masks = amd_masks(facts)
    if masks is None or not masks.visible or not all(known(g.integrated) for g in masks.visible):
        return None
    cards = [g for g in masks.gpus if g.integrated is False]
    if not cards:
        return None
    chosen, card = masks.visible[0], cards[0]
    message = (
        f"{' and '.join(masks.evidence)} leaves only GPU {chosen.index}, {known_or(chosen.name, 'an iGPU')} "
        f"({known_or(chosen.gfx, None) or 'gfx unknown'}), which is integrated into the CPU; the graphics card "
        f"{known_or(card.name, 'of AMD')} ({known_or(card.gfx, None) or 'gfx unknown'}) is GPU {card.index}."
    )
    return Problem(message, evidence=masks.evidence)
