"""A PyTorch for ROCm 6 in a directory whose path has a space."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import NEW
from gpudoctor.fixes.recreate import elsewhere
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import known, present
from gpudoctor.queries.gpus import amd_gpus
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnFramework, torches
from gpudoctor.tasks import unset


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    leads = " " in on.facts.host.environment.get("PYTHONPATH", "")  # what it leads to would be found first
    before = (unset("PYTHONPATH"),) if leads else ()
    return (elsewhere(on.python, NEW, *before, proof=BY_MODULE["torch"].proof),)


@check(
    title="Space in the path of PyTorch: HIP of ROCm 6 does not find its kernels",
    severity=Severity.ERROR,
    cause="HIP of ROCm 6 does not find the GPU code of a library whose path has a space. The GPU is listed, and each "
    "kernel fails with 'HIP error: invalid device function' or 'no kernel image is available'.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/4329",
        "https://github.com/ROCm/legacy-rocm-build/issues/3894",
        "https://github.com/ROCm/legacy-rocm-build/issues/4478",
    ),
    targets=torches,
    only_with=("pythons.frameworks.variant=rocm",),
    caused_by=("python.*", "rocm.gfx-not-in-wheel", "rocm.not-loaded", "rocm.kfd-missing", "rocm.not-driven"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def space_in_path(on: OnFramework) -> Problem | None:
    """PyTorch for a ROCm release that cannot read such paths, and an AMD GPU; a warning where no report is known."""
    if known(on.framework.variant) != "rocm" or not amd_gpus(on.facts) or " " not in (on.framework.location or ""):
        return None
    release = known(on.framework.hip)
    broken = rocm.breaks_paths_with_space(release) if release else None
    if broken is None:
        return None
    message = f"{on.name} is in {present(on.framework.location)}, whose path has a space: its kernels do not load."
    return Problem(message, severity=None if broken else Severity.WARNING)
