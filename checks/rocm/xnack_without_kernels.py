"""HSA_XNACK selects a mode for which the framework has no kernels."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, present
from gpudoctor.queries.gfx import amd_pairs, bare
from gpudoctor.targets import OnPair
from gpudoctor.tasks import unset

_VARIABLE = "HSA_XNACK"


@check(
    title="HSA_XNACK=1 is set, but the framework has no xnack+ kernels",
    severity=Severity.ERROR,
    cause="With HSA_XNACK=1 the GPU can wait for page faults to be resolved, and loads only kernels compiled for that "
    "mode (xnack+) or for both. Kernels compiled for xnack- are skipped: 'no kernel image', 'invalid device function'.",
    fixes=(
        Fix(
            f"Unset {_VARIABLE}, and remove it from ~/.bashrc, the launch script or the module file.",
            (unset(_VARIABLE),),
            "change-environment",
            needs="restart of the program",
        ),
        Fix(
            "If the program needs on-demand paging: use a framework build with xnack+ kernels.",
            (),
            "reinstall-package",
        ),
    ),
    references=(
        "https://llvm.org/docs/AMDGPUUsage.html",
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_runtime_api/memory_management/unified_memory.html",
    ),
    targets=amd_pairs,
    caused_by=("rocm.not-loaded", "rocm.override-of-another-isa"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def xnack_without_kernels(on: OnPair) -> Problem | None:
    """All of the framework's kernels for this GPU are for the other mode; one without a suffix works in both."""
    if on.facts.host.environment.get(_VARIABLE) != "1":
        return None
    gfx, archs = known(on.gpu.gfx), known(on.framework.archs)
    own = [arch for arch in archs if bare(arch) == gfx]
    if not own or not all("xnack-" in arch for arch in own):
        return None
    return Problem(
        f"{_VARIABLE}=1 is set, but {on.name} has kernels for {present(gfx)} with xnack- only.",
        (f"{_VARIABLE}=1", f"{on.framework.name} targets: {' '.join(own)}"),
    )
