"""An outside signal makes the GPU brake."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, phrase
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

_FIXES = (
    Fix(
        "Check the power supplies (one may have failed, or is too small), the card's power cables, and what the "
        "server's "
        "management (BMC) says of power; then the server's own power cap.",
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
    title="The power supply makes a GPU brake (HW power brake)",
    severity=Severity.WARNING,
    cause="The board pulls the GPU's power-brake line where the supply cannot give what is asked, or the external "
    "power is not "
    "right; the GPU halves its clocks or more.",
    fixes=_FIXES,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset", "health.overheated"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def power_brake(on: OnGpu) -> Problem | None:
    """NVML's own reason for the clocks."""
    reasons = known(on.gpu.event_reasons)
    if reasons is None or "hw-power-brake" not in reasons:
        return None
    now = on.gpu.sm_clock
    clock = phrase(" at {} of {} MHz", now, on.gpu.sm_clock_max) or phrase(" at {} MHz", now)
    return Problem(f"{gpu_name(on.gpu)} brakes{clock} because the power supply asks for it (hw-power-brake).")
