"""amdgpu.gttsize asks for more memory than TTM lets the graphics drivers take."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.containers import size
from gpudoctor.targets import amd_compute, cards_of
from gpudoctor.tasks import query

_PAGE = 4096  # bytes; AMD's GPUs that share the RAM are in x86 CPUs
_REST = 4 << 30  # what the system keeps at least: the limit is of pages that cannot be swapped out while in use


def _module(facts: Facts) -> str:
    """AMD's driver package has a TTM of its own; the kernel's driver shows no version."""
    return "amdttm" if isinstance(facts.amd.version, str) else "ttm"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    asked, memory = present(facts.amd.gtt_size), known_or(facts.host.memory, 0)
    wanted = min(asked, memory - _REST) if memory - _REST > present(facts.amd.ttm_limit) else asked
    name = _module(facts)
    message = "Raise TTM's limit instead, and remove amdgpu.gttsize, which is deprecated."
    verify = query("cat", f"/sys/module/{name}/parameters/pages_limit")
    return (kernel_parameter(facts, message, f"{name}.pages_limit={wanted // _PAGE}", verify),)


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
    name = f"/sys/module/{_module(facts)}/parameters/pages_limit"
    evidence = (f"/sys/module/amdgpu/parameters/gttsize: {asked >> 20}", f"{name}: {limit // _PAGE}")
    return Problem(message, evidence)
