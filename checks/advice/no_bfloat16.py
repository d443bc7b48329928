"""GPUs older than Ampere, which have no bfloat16."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, present
from gpudoctor.queries.advice import computing
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import nvidia_hardware

_FIRST, _TENSOR_CORES = (8, 0), (7, 0)
_HALF = (
    "Compute in float16 with loss scaling: torch.autocast('cuda', dtype=torch.float16) with torch.amp.GradScaler, "
    "fp16=True and bf16=False in transformers, dtype=half in vLLM, mixed_float16 in Keras."
)
_SIXTEEN = (
    "Compute in float32: the GeForce GTX 16 has no tensor cores, and half precision is known to give NaN or black "
    "images on it (--no-half or --precision full in image generators)."
)
_SINGLE = (
    "Compute in float32: this generation has no tensor cores, and torch.compile does not support it (Triton needs "
    "compute capability 7.0). float16 saves memory alone."
)


def _old(facts: Facts) -> list[Gpu]:
    return [g for g in visible_gpus(facts) if version(known(g.capability) or "99") < _FIRST]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    gpu = _old(facts)[0]
    if isinstance(gpu.name, str) and "GTX 16" in gpu.name:
        return (Fix(_SIXTEEN),)
    return (Fix(_HALF if version(present(gpu.capability)) >= _TENSOR_CORES else _SINGLE),)


@check(
    title="A GPU has no bfloat16",
    severity=Severity.ADVICE,
    cause="bfloat16 came with Ampere (compute capability 8.0). Before, PyTorch emulates it: slowly, without cuDNN's "
    "convolutions, and torch.cuda.is_bf16_supported() says True all the same. Many models and scripts ask for it.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/pull/148322",
        "https://github.com/pytorch/pytorch/issues/58123",
    ),
    targets=nvidia_hardware,
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def no_bfloat16(facts: Facts) -> Problem | None:
    """A framework computes here, and a visible GPU is older than Ampere."""
    if not computing(facts):
        return None
    old = _old(facts)
    if not old:
        return None
    words = f"{gpu_words(old[0])} and {len(old) - 1} more compute" if len(old) > 1 else f"{gpu_words(old[0])} computes"
    return Problem(f"{words} bfloat16 by emulation only.")
