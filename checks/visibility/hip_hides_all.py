"""A mask hides every AMD GPU."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import amd_fixes
from gpudoctor.maybe import present
from gpudoctor.queries.visibility import amd_masks, amd_wrong, is_multiplied
from gpudoctor.targets import amd_compute


@check(
    title="ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES hides every AMD GPU",
    severity=Severity.ERROR,
    cause="ROCR_VISIBLE_DEVICES filters first (an empty value hides all), and HIP_VISIBLE_DEVICES, or "
    "CUDA_VISIBLE_DEVICES instead of it, then counts within the remaining GPUs. Each list is read up to its first "
    "invalid entry: a negative number, a word, a UUID that no GPU has.",
    fixes=amd_fixes,
    references=(
        "https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",
        "https://github.com/ROCm/clr/blob/amd-staging/rocclr/device/rocm/rocdevice.cpp",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    validated_on=("facts 2026-11",),
    vendor="amd",
)
def hip_hides_all(facts: Facts) -> Problem | None:
    """One of the masks leaves nothing, and not by an index out of range."""
    masks = amd_masks(facts)
    if masks is None or masks.visible or is_multiplied(masks):
        return None
    by_rocr = not masks.first.visible
    mask, name = (masks.first, "ROCR_VISIBLE_DEVICES") if by_rocr else (masks.then, masks.variable)
    if mask.why == "index":
        return None
    value = masks.rocr if by_rocr else masks.hip
    what = "is an empty string" if value == "" else f"is {present(value)!r}: {amd_wrong(mask)}"
    return Problem(
        f"{name} {what}. It hides every AMD GPU from HIP programs; the kernel lists {len(masks.gpus)}.",
        evidence=masks.evidence,
    )
