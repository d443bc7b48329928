"""An AMD GPU is at its critical temperature."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, amd_gpus, gpu_name
from gpudoctor.tasks import Shell


@check(
    title="An AMD GPU is at its critical temperature",
    severity=Severity.WARNING,
    cause="At the critical temperature of its sensor a GPU lowers its clocks as far as it can; somewhat above it the "
    "card switches itself off, and the driver loses it from the bus.",
    fixes=(
        Fix(
            "Cool the GPU: clean fans and filters, and give it air; a passive card needs a server's airflow.",
            (Shell("cat /sys/class/drm/card*/device/hwmon/hwmon*/temp1_input", lookup=True),),
            "replace-hardware",
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
    """Of GPUs without such a sensor nothing is asked."""
    limit = on.gpu.temperature_slowdown
    if not isinstance(limit, int) or limit <= 0:
        return None
    heat = known(on.gpu.temperature)
    if heat is None or heat < limit:
        return None
    return Problem(f"{gpu_name(on.gpu)} has {heat} degrees C, and is critical from {limit} on.")
