"""A GB10 runs at a fraction of its clock, and no throttle reason is reported."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.gpus import busy, is_gb10
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query

# Under load GB10 runs at about 2.4 of its 3.0 GHz; throttled this way it stays near 0.5 GHz.
_LOW = 1 / 3
# Heat, or a clock that was set.
_NAMED = {"sw-thermal-slowdown", "hw-thermal-slowdown", "applications-clocks"}

_FIXES = (
    Fix(
        "Shut down, unplug the power supply for a minute, and start again: a reboot keeps this state.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi", "--query-gpu=clocks.sm,clocks.max.sm,power.draw", "--format=csv", "-l", "1"),
    ),
    Fix(
        "Use the power supply that came with the machine, in its own outlet, without a dock or hub between, and "
        "update the firmware.",
        (as_root("fwupdmgr", "refresh"), as_root("fwupdmgr", "update")),
        root=True,
        needs="reboot",
        impact="persistent",
    ),
)


@check(
    title="GB10 stuck at a fraction of its clock",
    severity=Severity.WARNING,
    cause="The machine's firmware shares the power negotiated with the supply between CPU and GPU. After a failed "
    "negotiation (USB-C Power Delivery) it keeps the GPU in a low-power state, and the driver is not informed: "
    "everything works, several times slower.",
    fixes=_FIXES,
    references=(
        "https://github.com/Blackwellboy/model-serving-minefield/pull/55",
        "https://github.com/parallelArchitect/spark-gpu-throttle-check",
    ),
    targets=nvidia_gpus,
    caused_by=("health.overheated", "health.power-brake", "health.power-capped", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def spark_held_down(on: OnGpu) -> Problem | None:
    """Fully loaded, below a third of its clock, and the driver reports no reason."""
    if not is_gb10(on.facts, on.gpu) or not busy(on.gpu, 90):
        return None
    clock, most = known(on.gpu.sm_clock), known(on.gpu.sm_clock_max)
    if not clock or not most or clock >= most * _LOW:
        return None
    reasons = known(on.gpu.event_reasons)
    if reasons is not None and _NAMED & set(reasons):
        return None
    watts = phrase(" at {:.0f} W", on.gpu.power)
    return Problem(f"{gpu_name(on.gpu)} runs at {clock} of {most} MHz{watts} under load, for no reported reason.")
