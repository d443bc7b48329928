"""A GPU is so hot that its clocks are lowered."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.limits import lower
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.power import impossible_power
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

_LOOK = query("nvidia-smi", "-q", "-d", "TEMPERATURE,PERFORMANCE")
# The driver acts a little before the memory reaches its limit.
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


@check(
    title="GPU too hot: thermal throttling",
    severity=Severity.WARNING,
    cause="Above its slowdown temperature a GPU lowers its clocks (thermal slowdown); if it gets hotter, it shuts "
    "down and falls off the bus.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def overheated(on: OnGpu) -> Problem | None:
    """NVML's reasons for the clocks; the plain hardware slowdown counts where the GPU is hot."""
    heat, limit = known_or(on.gpu.temperature, None), known_or(on.gpu.temperature_slowdown, None)
    last = known_or(on.gpu.temperature_shutdown, None)
    if heat is not None and last is not None and heat >= last:
        return Problem(f"{gpu_name(on.gpu)} is at {heat} degrees C, and shuts down at {last}.")
    memory, most = known_or(on.gpu.temperature_memory, None), known_or(on.gpu.temperature_memory_max, None)
    reasons = known(on.gpu.event_reasons)
    hot = heat is not None and limit is not None and heat >= limit
    named = [r for r in reasons or () if r in ("hw-thermal-slowdown", "sw-thermal-slowdown")]
    # A broken power sensor makes the driver report both slowdowns (NVIDIA/open-gpu-kernel-modules#1237: at 48 degrees).
    if (not named or impossible_power(on.gpu)) and not hot:
        if memory and most and memory > most:
            return Problem(f"The memory of {gpu_name(on.gpu)} is at {memory} degrees C: its limit is {most}.")
        return None
    if heat is not None and not named and "hw-slowdown" not in (reasons or ()):
        return Problem(
            f"{gpu_name(on.gpu)} is at {heat} degrees C{phrase(': from {} on it lowers its clocks', limit)}."
        )
    if memory and most and memory >= most - _NEAR and not hot:
        message = (
            f"The memory of {gpu_name(on.gpu)} is hot at {memory} degrees C (its limit is {most}), so the GPU has "
        )
        return Problem(f"{message}lowered its clocks: {', '.join(named)}.")
    degrees = f" at {heat} degrees C" if heat is not None else ""
    slow = f" (slowdown from {limit})" if limit is not None else ""
    end = f" At {last} it shuts down." if heat is not None and last is not None and heat >= last - _LAST else ""
    why = ", ".join(named) or "hw-slowdown"
    return Problem(f"{gpu_name(on.gpu)} is hot{degrees}{slow} and has lowered its clocks: {why}.{end}")
