"""PyTorch for Intel GPUs, but no Level Zero on the machine."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes import intel
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.intel import sees_none, xpu_torches
from gpudoctor.targets import OnLive


@check(
    title="Level Zero is not installed: PyTorch (XPU) needs it for the Intel GPU",
    severity=Severity.ERROR,
    cause="The XPU wheels include the SYCL runtime, which loads libze_loader.so.1, and that loads "
    "libze_intel_gpu.so.1, Intel's user-space driver. Both come from system packages; a desktop needs neither.",
    fixes=lambda on: intel.level_zero(on.facts),
    references=(intel.START, intel.DRIVERS),
    targets=xpu_torches,
    caused_by=("intel.not-driven",),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def level_zero_missing(on: OnLive) -> Problem | None:
    """It finds no GPU, or does not say, and one of the two libraries is missing."""
    silent = isinstance(on.live.available, Unknown) and not on.live.import_error
    if on.facts.host.system != "Linux" or not (silent or sees_none(on)):
        return None
    found = {
        "libze_loader.so.1": known(on.facts.intel.loader),
        "libze_intel_gpu.so.1": known(on.facts.intel.level_zero),
    }
    missing = [name for name, path in found.items() if path is None]
    if not missing:
        return None
    names = " and ".join(missing)
    if silent:  # where it works without them, it would have said so
        return Problem(f"{on.name} needs {names} for Intel's GPUs, not found.", severity=Severity.WARNING)
    return Problem(f"{on.name} finds no Intel GPU: {names} not found.")
