"""ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES set together leave too few GPUs."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import amd_fixes
from gpudoctor.maybe import present
from gpudoctor.queries.visibility import amd_masks, is_multiplied
from gpudoctor.targets import amd_compute


@check(
    title="ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES are both set and hide GPUs",
    severity=Severity.ERROR,
    cause="ROCR_VISIBLE_DEVICES filters first and renumbers the remaining GPUs from 0. HIP_VISIBLE_DEVICES then "
    "counts within that shorter list, so the same index in both selects nothing.",
    fixes=amd_fixes,
    references=("https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    validated_on=("simulated 2026-11",),
    vendor="amd",
)
def rocr_and_hip(facts: Facts) -> Problem | None:
    """HIP's mask alone would show more GPUs than both together."""
    masks = amd_masks(facts)
    if masks is None or not is_multiplied(masks):
        return None
    left = len(masks.visible)
    seen = "HIP programs see no GPU" if not left else f"HIP programs see {left} of {len(masks.gpus)} GPUs"
    message = (
        f"ROCR_VISIBLE_DEVICES={present(masks.rocr)} leaves {len(masks.first.visible)} of {len(masks.gpus)} GPUs, "
        f"numbered from 0, and {masks.variable}={present(masks.hip)} counts within them: {seen}."
    )
    return Problem(message, evidence=masks.evidence, severity=Severity.WARNING if left else Severity.ERROR)
