"""A GPU or its memory is above a limit of its temperature, or so hot that its clocks are lowered."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.limits import lower
from gpudoctor.maybe import Maybe, known, known_or, phrase
from gpudoctor.queries.power import impossible_power
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

_LOOK = query("nvidia-smi", "-q", "-d", "TEMPERATURE,PERFORMANCE")
# The driver acts a little before the GPU or its memory reaches its limit.
_NEAR = 5
# This close to its shutdown temperature a GPU has minutes.
_LAST = 3


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    fans = query("nvidia-smi", "--query-gpu=index,temperature.gpu,fan.speed", "--format=csv")
    if known_or(on.facts.host.platform, "") == "laptop":
        message = (
            "Cool the GPU: clean fans and vents, put the laptop on a hard surface, and select a cooler power profile."
        )
    else:
        message = (
            "Cool the GPU: clean fans and filters, and improve the airflow (a passive card needs a server's airflow)."
        )
    cool = Fix(message, (_LOOK, fans), "improve-cooling", verify=_LOOK)
    less = lower(on.gpu)
    if less is None:
        return (cool,)
    message = "Until then reduce its load: lower its clocks or its power limit."
    return (cool, Fix(message, less[:1], "change-environment", root=True, undo=less[1:], verify=_LOOK))


def _left(heat: Maybe[int | None], limit: Maybe[int | None]) -> int | None:
    """How many degrees are left below a limit; negative above it, None where either is not known."""
    now, most = known_or(heat, None), known_or(limit, None)
    return None if now is None or most is None or most <= 0 else most - now


def _also(on: OnGpu, sensor: str) -> str:
    """A sentence about the other sensor, where it is close to its limit or above it."""
    heat, limit = on.gpu.temperature_memory, on.gpu.temperature_memory_max
    template = " Its memory is at {} degrees C (its limit is {})."
    if sensor == "GPU":
        heat, limit = on.gpu.temperature, on.gpu.temperature_operating_max
        template = " The GPU itself is at {} degrees C (its maximum operating temperature is {})."
    left = _left(heat, limit)
    return phrase(template, heat, limit) if left is not None and left <= _NEAR else ""


@check(
    title="GPU or its memory is too hot",
    severity=Severity.WARNING,
    cause="Above its maximum operating temperature a GPU may run below its base clock, and the driver lowers its "
    "clocks for hot memory as well. From its slowdown temperature on the hardware lowers them to half or less; if it "
    "gets hotter, it shuts down and falls off the bus.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def overheated(on: OnGpu) -> Problem | None:
    """Each sensor against its own limit, and NVML's reasons for the clocks; the sensor that is over is named."""
    gpu, name = on.gpu, gpu_name(on.gpu)
    heat, slowdown = known_or(gpu.temperature, None), known_or(gpu.temperature_slowdown, None)
    last = known_or(gpu.temperature_shutdown, None)
    if heat is not None and last is not None and heat >= last:
        return Problem(f"{name} is at {heat} degrees C, and shuts down at {last}.")
    memory = _left(gpu.temperature_memory, gpu.temperature_memory_max)
    reasons = known(gpu.event_reasons)
    slow = heat is not None and slowdown is not None and heat >= slowdown
    over = (_left(gpu.temperature, gpu.temperature_operating_max) or 0) < 0
    named = [r for r in reasons or () if r in ("hw-thermal-slowdown", "sw-thermal-slowdown")]
    # A broken power sensor makes the driver report both slowdowns (NVIDIA/open-gpu-kernel-modules#1237: at 48 degrees).
    if (not named or impossible_power(gpu)) and not slow and not over:
        if memory is None or memory >= 0:
            return None
        degrees = phrase("{} degrees C: its limit is {}", gpu.temperature_memory, gpu.temperature_memory_max)
        return Problem(f"The memory of {name} is at {degrees}.{_also(on, 'GPU')}")
    if not named and not (slow and "hw-slowdown" in (reasons or ())):
        above = phrase(", above its maximum operating temperature of {}", gpu.temperature_operating_max)
        end = phrase(": from {} on it lowers its clocks", slowdown) if slow else above
        return Problem(f"{name} is at{phrase(' {} degrees C', heat)}{end}.{_also(on, 'memory')}")
    if memory is not None and memory <= _NEAR and not slow and not over:
        degrees = phrase("{} degrees C (its limit is {})", gpu.temperature_memory, gpu.temperature_memory_max)
        message = f"The memory of {name} is hot at {degrees}, so the GPU has lowered its clocks: {', '.join(named)}."
        return Problem(message + _also(on, "GPU"))
    most = phrase(" (its maximum operating temperature is {})", gpu.temperature_operating_max)
    if slow or not over:
        most = phrase(" (slowdown from {})", slowdown)
    end = f" At {last} it shuts down." if heat is not None and last is not None and heat >= last - _LAST else ""
    why = ", ".join(named) or "hw-slowdown"
    message = f"{name} is hot{phrase(' at {} degrees C', heat)}{most} and has lowered its clocks: {why}."
    return Problem(f"{message}{end}{_also(on, 'memory')}")
