"""A GPU is so hot that its clocks are lowered."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.subjects import OnGpu, gpu_name, nvidia_gpus

_FIXES = (
    Fix(
        "Cool the GPU: clean fans and filters, give it air (a passive data-centre card needs a server's airflow), "
        "and look at "
        "the fans' speed.",
        ("nvidia-smi -q -d TEMPERATURE,PERFORMANCE",),
        "replace-hardware",
        verify="nvidia-smi --query-gpu=index,temperature.gpu,clocks_event_reasons.active --format=csv",
    ),
    Fix(
        "Until then lower its power limit or its clocks.",
        ("nvidia-smi -q -d POWER | grep -i limit", "sudo nvidia-smi -lgc 300,1200"),
        "change-environment",
        root=True,
        undo="sudo nvidia-smi -rgc",
    ),
)


@check(
    title="A GPU is too hot and slows down",
    severity=Severity.WARNING,
    cause="Above its slowdown temperature a GPU lowers its clocks by itself (thermal slowdown); hotter still it "
    "switches off and "
    "falls off the bus.",
    fixes=_FIXES,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
    each=nvidia_gpus,
    because=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    seen=("simulated 2026-11",),
)
def overheated(on: OnGpu) -> Problem | None:
    """NVML's reasons for the clocks; the plain hardware slowdown counts where the GPU is hot."""
    reasons = known(on.gpu.event_reasons)
    heat, limit = known_or(on.gpu.temperature, None), known_or(on.gpu.temperature_slowdown, None)
    hot = heat is not None and limit is not None and heat >= limit
    named = [r for r in reasons or () if r in ("hw-thermal-slowdown", "sw-thermal-slowdown")]
    if not named and not (hot and "hw-slowdown" in (reasons or ())):
        return None
    degrees = f" at {heat} degrees C" if heat is not None else ""
    slow = f" (slowdown from {limit})" if limit is not None else ""
    return Problem(
        f"{gpu_name(on.gpu)} is hot{degrees}{slow} and has lowered its clocks: {', '.join(named) or 'hw-slowdown'}."
    )
