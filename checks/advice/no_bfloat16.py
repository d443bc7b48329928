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
    "Use float16 with loss scaling: torch.autocast('cuda', dtype=torch.float16) with torch.amp.GradScaler, fp16=True "
    "and bf16=False in transformers, dtype=half in vLLM, mixed_float16 in Keras."
)
_SIXTEEN = (
    "Use float32: the GeForce GTX 16 has no tensor cores, and half precision is known to give NaN or black images on "
    "it (--no-half or --precision full in image generators)."
)
_SINGLE = (
    "Use float32: this generation has no tensor cores, and torch.compile does not support it (Triton needs compute "
    "capability 7.0). float16 only saves memory."
)


def _old(facts: Facts) -> list[Gpu]:
    return [g for g in visible_gpus(facts) if version(known(g.capability) or "99") < _FIRST]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    gpu = _old(facts)[0]
    if isinstance(gpu.name, str) and "GTX 16" in gpu.name:
        return (Fix(_SIXTEEN),)
    return (Fix(_HALF if version(present(gpu.capability)) >= _TENSOR_CORES else _SINGLE),)


@check(
    title="GPU has no native bfloat16",
    severity=Severity.ADVICE,
    cause="bfloat16 came with Ampere (compute capability 8.0). On older GPUs PyTorch emulates it: slowly, without "
    "cuDNN's convolutions, and torch.cuda.is_bf16_supported() still returns True. Many models and scripts use it by "
    "default.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/pull/148322",
        "https://github.com/pytorch/pytorch/issues/58123",
    ),
    targets=nvidia_hardware,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def no_bfloat16(facts: Facts) -> Problem | None:
    """A framework works here, and a visible GPU is older than Ampere."""
    if not computing(facts):
        return None
    old = _old(facts)
    if not old:
        return None
    gpus = f"{gpu_words(old[0])} and {len(old) - 1} more support" if len(old) > 1 else f"{gpu_words(old[0])} supports"
    return Problem(f"{gpus} bfloat16 only by emulation.")
