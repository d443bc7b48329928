"""GPUs with little memory for training."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.advice import computing
from gpudoctor.queries.gpus import mobile, visible_gpus
from gpudoctor.targets import gpu_name, nvidia_hardware

_SMALL = 8.5 * (1 << 30)  # cards of 8 GB and less
# Bytes for each parameter: training in mixed precision with AdamW (weights, gradients, optimizer), inference in 16
# bits, and in 4 bits with its metadata; activations and the context come on top.
_TRAINING, _HALF, _FOUR = 18, 2, 0.7
_ROOM = 0.85  # of the memory is left after the context, the display and activations


def _billions(memory: int, each: float) -> str:
    number = memory * _ROOM / each / 1e9
    return f"{number:.1f}" if number < 1 else f"{number:.0f}"


def _fixes(_: Facts) -> tuple[Fix, ...]:
    return (
        Fix(
            "For larger models: train adapters (LoRA, QLoRA) on 4-bit weights, with gradient checkpointing, a small "
            "batch and gradient accumulation; run them in 4 bits, or offload some layers to host memory.",
        ),
    )


@check(
    title="GPU has little memory for training",
    severity=Severity.ADVICE,
    cause="Training with AdamW in mixed precision needs about 18 bytes per parameter, plus activations; 'CUDA out of "
    "memory' is then not a fault of the machine.",
    fixes=_fixes,
    references=("https://huggingface.co/docs/transformers/model_memory_anatomy",),
    targets=nvidia_hardware,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def small_memory(facts: Facts) -> Problem | None:
    """A training framework works here, and no visible GPU, other than a laptop's, has more than 8 GB of its own."""
    trains = [on for on in computing(facts) if on.framework.name in ("torch", "tensorflow", "jax")]
    gpus = [g for g in visible_gpus(facts) if g.integrated is not True]
    if not trains or not gpus:
        return None
    sizes = [known(g.memory) or 0 for g in gpus]
    largest = max(sizes)
    gpu = gpus[sizes.index(largest)]
    if not largest or largest > _SMALL or mobile(facts, gpu):
        return None
    full, half, four = (_billions(largest, each) for each in (_TRAINING, _HALF, _FOUR))
    return Problem(
        f"{gpu_name(gpu)} has {largest / (1 << 30):.0f} GiB: enough to fully train about {full} billion parameters, "
        f"and to run about {half} billion in 16 bits or {four} billion in 4."
    )
