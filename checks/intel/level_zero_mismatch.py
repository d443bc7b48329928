"""PyTorch for Intel GPUs crashes, and Level Zero's loader and Intel's driver for it are of different ages."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.fixes.frameworks import verify
from gpudoctor.knowledge.intel import older_of
from gpudoctor.maybe import known, present
from gpudoctor.parsers.crash_output import dying_words
from gpudoctor.queries.intel import xpu_torches
from gpudoctor.targets import OnLive


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    proof = verify(on.python, "import torch; print(torch.xpu.get_device_properties(0))")
    return (intel.matching_level_zero(on.facts, proof),)


@check(
    title="Level Zero's loader and Intel's driver for it do not match: PyTorch (XPU) crashes",
    severity=Severity.ERROR,
    cause="Level Zero's loader (libze_loader.so.1) and Intel's driver for it (libze_intel_gpu.so.1, part of the "
    "compute runtime) come from two packages. A release of the one expects functions that an older release of the "
    "other lacks, and the call of a function that is not there ends the program: SIGSEGV at address 0.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/179891",
        "https://github.com/intel/compute-runtime/issues/971",
        intel.RUNTIMES,
    ),
    targets=xpu_torches,
    caused_by=("intel.runtime-regression",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def level_zero_mismatch(on: OnLive) -> Problem | None:
    """It was imported and died while it asked for GPUs, and one of the two is too old for the other."""
    live, stack = on.live, on.facts.intel
    if live.died != "SIGSEGV" or live.stage not in ("devices", "init"):
        return None
    loader, build = known(stack.loader_version), known(stack.runtime_build)
    if loader is None or build is None:
        return None
    older = older_of(loader, build)
    if older is None:
        return None
    age = "is older than its loader" if older == "driver" else "is newer than its loader"
    message = (
        f"{on.name} crashes when it asks the Intel GPU for its properties: Intel's driver for Level Zero (compute "
        f"runtime, build {build}) {age} ({loader})."
    )
    paths = (f"{present(stack.loader)}: {loader}", f"{present(stack.level_zero)}: build {build}")
    return Problem(message, (*paths, *dying_words(live.stderr)))
