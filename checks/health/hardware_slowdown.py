"""The board slows a GPU down, and it is neither heat nor the power brake."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.gpus import busy
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

# The slowdown divides the clocks by two or more (nvmlClocksEventReasons); a moment of it between two clocks is normal.
_HALF = 0.55
# Reasons with their own check.
_NAMED = ("hw-thermal-slowdown", "sw-thermal-slowdown", "hw-power-brake")


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    look = query("nvidia-smi", "-i", on.gpu.index, "-q", "-d", "POWER,PERFORMANCE,TEMPERATURE")
    if known_or(on.facts.host.platform, "") == "laptop":
        message = (
            "Plug in the charger that came with the laptop (a weaker one, or USB-C, is not enough), select the "
            "performance power profile, and update the firmware."
        )
        return (Fix(message, (look,), "power-cycle", verify=look),)
    message = (
        "Check the card's power cables, each on its own cable from the supply, and whether the power supply is "
        "strong enough; then disconnect the power for a minute."
    )
    return (Fix(message, (look,), "replace-hardware", verify=look),)


@check(
    title="HW slowdown: the board throttles a GPU",
    severity=Severity.WARNING,
    cause="The hardware itself lowers the clocks to half or less: its protection detected too much current, or too "
    "little power from cable, supply or charger. The driver cannot override that.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def hardware_slowdown(on: OnGpu) -> Problem | None:
    """The plain reason under load, with clocks that show it."""
    reasons = known(on.gpu.event_reasons)
    if reasons is None or "hw-slowdown" not in reasons or any(name in reasons for name in _NAMED):
        return None
    heat, limit = known_or(on.gpu.temperature, None), known_or(on.gpu.temperature_slowdown, None)
    if (heat is not None and limit is not None and heat >= limit) or not busy(on.gpu, 50):
        return None
    clock, most = known(on.gpu.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not most or clock >= most * _HALF:
        return None
    return Problem(f"HW slowdown throttles {gpu_name(on.gpu)} to {clock} of {most} MHz under load; it is not heat.")
