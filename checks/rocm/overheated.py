"""An AMD GPU is at its critical temperature."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, amd_gpus, gpu_name
from gpudoctor.tasks import Shell


@check(
    title="AMD GPU is at its critical temperature",
    severity=Severity.WARNING,
    cause="At its critical temperature a GPU throttles to its lowest clocks; slightly above it the card shuts itself "
    "off and drops off the PCI bus.",
    fixes=(
        Fix(
            "Improve cooling: clean fans and filters, and check the airflow; a passive card needs server airflow.",
            (Shell("cat /sys/class/drm/card*/device/hwmon/hwmon*/temp1_input", lookup=True),),
            "improve-cooling",
            verify=Shell("cat /sys/class/drm/card*/device/hwmon/hwmon*/temp1_input", lookup=True),
        ),
    ),
    references=("https://docs.kernel.org/gpu/amdgpu/thermal.html",),
    targets=amd_gpus,
    caused_by=("rocm.reset-failed",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def overheated(on: OnGpu) -> Problem | None:
    """GPUs without such a sensor are skipped."""
    limit = on.gpu.temperature_slowdown
    if not isinstance(limit, int) or limit <= 0:
        return None
    heat = known(on.gpu.temperature)
    if heat is None or heat < limit:
        return None
    return Problem(f"{gpu_name(on.gpu)} is at {heat} degrees C; its critical temperature is {limit} degrees C.")
