"""An external signal throttles the GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.gpus import BUSY
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

_FIXES = (
    Fix(
        "Check the power supplies (one may have failed or be too small; in a rack also the power shelf), the card's "
        "power cables, and the power status in the server's management (BMC); then the server's own power cap. The "
        "signal comes from outside: no setting of the driver releases it.",
        (
            query("nvidia-smi", "-q", "-d", "POWER,PERFORMANCE"),
            query("ipmitool", "sdr", "type", "Power Supply", root=True),
        ),
        "replace-hardware",
        root=True,
        verify=query("nvidia-smi", "-q", "-d", "PERFORMANCE"),
    ),
)


@check(
    title="HW power brake active: the power supply throttles a GPU",
    severity=Severity.WARNING,
    cause="The board asserts the GPU's power brake where the power supply cannot deliver enough, or the external "
    "power is not right; the GPU cuts its clocks to half or less.",
    fixes=_FIXES,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
        "https://github.com/NVIDIA/NVSentinel/issues/1666",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset", "health.overheated"),
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def power_brake(on: OnGpu) -> Problem | None:
    """NVML's own reason for the clocks."""
    reasons = known(on.gpu.event_reasons)
    if reasons is None or "hw-power-brake" not in reasons:
        return None
    asserted = "the power supply asserts the power brake (hw-power-brake)"
    used = known_or(on.gpu.utilization, None)
    if used is not None and used < BUSY:  # at rest its clock is low without the brake, too
        return Problem(f"{gpu_name(on.gpu)} is throttled under load: {asserted}.")
    now = on.gpu.sm_clock
    clock = phrase(" to {} of {} MHz", now, on.gpu.sm_clock_max) or phrase(" to {} MHz", now)
    return Problem(f"{gpu_name(on.gpu)} is throttled{clock} because {asserted}.")
