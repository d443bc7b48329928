"""A mask lists an AMD GPU that does not exist."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.visibility import amd_fixes
from gpudoctor.maybe import present
from gpudoctor.parsers.visible_devices import Mask
from gpudoctor.queries.visibility import ROCR, amd_masks, amd_wrong, is_multiplied
from gpudoctor.targets import amd_compute


@check(
    title="ROCR_ or HIP_VISIBLE_DEVICES lists an AMD GPU that does not exist",
    severity=Severity.ERROR,
    cause="Indices count from 0 in the order in which KFD, the kernel's compute driver, lists the GPUs; rocm-smi and "
    "amd-smi may number them differently. The list is read up to the first entry that matches no GPU.",
    fixes=amd_fixes,
    references=("https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    validated_on=("table 2026-11",),
    vendor="amd",
)
def hip_out_of_range(facts: Facts) -> Problem | None:
    """An index is beyond the last GPU: an ERROR where nothing is left, else a WARNING."""
    masks = amd_masks(facts)
    if masks is None or is_multiplied(masks):
        return None
    pairs: list[tuple[str, str | None, Mask]] = [
        (ROCR, masks.rocr, masks.first),
        (masks.variable, masks.hip, masks.then),
    ]
    for name, value, mask in pairs:
        if mask.bad is None or (mask.why != "index" and not mask.visible):
            continue
        left = f"HIP programs see {len(masks.visible)} of {len(masks.gpus)} GPUs" if masks.visible else "no GPU is left"
        return Problem(
            f"{name} is {present(value)!r}: {amd_wrong(mask)}; {left}.",
            evidence=masks.evidence,
            severity=Severity.WARNING if masks.visible else Severity.ERROR,
        )
    return None
