"""A GPU's clocks were set low and never reset."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import busy, is_gb10, mobile, virtual
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query

# Clocks move in steps; a clock further below its default was set by an administrator.
_BELOW = 0.95
# A GPU under load that nothing throttles runs near its maximum clock.
_LOW = 0.6
# Reasons that only report that a setting limits the clocks, or that nothing does.
_NO_REASON = {"applications-clocks", "gpu-idle", "sync-boost"}


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    index = on.gpu.index
    message = "If this was not on purpose: reset the clock limits, and look for a service or job script that sets them."
    look = query(
        "nvidia-smi", "-i", index, "--query-gpu=clocks.sm,clocks.max.sm,clocks.applications.graphics", "--format=csv"
    )
    back = (as_root("nvidia-smi", "-i", index, "-rgc"), as_root("nvidia-smi", "-i", index, "-rac"))
    return (Fix(message, (look, *back), "change-environment", root=True, verify=look),)


@check(
    title="GPU clocks are locked or set low",
    severity=Severity.ADVICE,
    cause="nvidia-smi can limit a GPU's clocks (-lgc, -ac), to save power or to make measurements repeatable. The "
    "limit applies to all programs until it is reset or the driver is reloaded.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
    ),
    targets=nvidia_gpus,
    caused_by=(
        "health.power-capped",
        "health.overheated",
        "health.power-brake",
        "device.fallen-off-the-bus",
        "device.needs-reset",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def clocks_held(on: OnGpu) -> Problem | None:
    """An application clock below its default; or a low clock under load for which the driver gives no reason."""
    # GB10 and laptops share their power and heat with the CPU, whose firmware changes the clocks.
    shared = on.gpu.integrated is True or is_gb10(on.facts, on.gpu) or mobile(on.facts, on.gpu)
    if virtual(on.facts, on.gpu) or shared:
        return None
    wanted, usual = on.gpu.application_clock, on.gpu.application_clock_default
    if isinstance(wanted, int) and isinstance(usual, int) and wanted < usual * _BELOW:
        return Problem(f"The application clock of {gpu_name(on.gpu)} is set to {wanted} MHz; its default is {usual}.")
    reasons = known(on.gpu.event_reasons)
    if reasons is None or not set(reasons) <= _NO_REASON or not busy(on.gpu, 90):
        return None
    clock, most = known(on.gpu.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not most or clock >= most * _LOW:
        return None
    message = (
        f"{gpu_name(on.gpu)} runs at {clock} of {most} MHz under load without thermal or power throttling: its "
        "clocks are probably locked (nvidia-smi -lgc)."
    )
    return Problem(message)
