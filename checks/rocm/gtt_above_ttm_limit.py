"""amdgpu.gttsize asks for more memory than TTM lets the graphics drivers take."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import ttm
from gpudoctor.maybe import known, present
from gpudoctor.queries.containers import size
from gpudoctor.targets import amd_compute, cards_of


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Raise TTM's limit instead, and remove amdgpu.gttsize, which is deprecated."
    return (ttm.raise_limit(facts, message, present(facts.amd.gtt_size)),)


@check(
    title="TTM limits GTT memory: amdgpu.gttsize has no effect beyond ttm.pages_limit",
    severity=Severity.WARNING,
    cause="An integrated GPU computes in system RAM (GTT), which amdgpu takes through the kernel's TTM. TTM's own "
    "limit, ttm.pages_limit, is half of the RAM by default, whatever amdgpu.gttsize is: HIP shows the smaller size, "
    "and allocations beyond it fail with out of memory.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/module-parameters.html",
        "https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/ttm/ttm_tt.c",
        "https://manpages.debian.org/testing/amd-debug-tools/amd-ttm.1.en.html",
    ),
    targets=amd_compute,
    caused_by=("rocm.ttm-limit-not-in-effect",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gtt_above_ttm_limit(facts: Facts) -> Problem | None:
    """Where all of AMD's GPUs are integrated: cards have memory of their own."""
    if not all(known(card.integrated) for card in cards_of(facts, "amd")):
        return None
    asked = known(facts.amd.gtt_size)
    limit = known(facts.amd.ttm_limit) if asked else None
    if asked is None or limit is None or asked <= limit:
        return None
    message = f"amdgpu.gttsize asks for {size(asked)} of GTT, but TTM's limit is {size(limit)}: programs get no more."
    shown = f"{ttm.parameter_path(facts)}: {limit // ttm.PAGE}"
    evidence = (f"/sys/module/amdgpu/parameters/gttsize: {asked >> 20}", shown)
    return Problem(message, evidence)
