"""GPUs that CUDA_VISIBLE_DEVICES hides, and that Ollama uses through Vulkan."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.ollama import with_variable
from gpudoctor.knowledge.ollama import ollama
from gpudoctor.maybe import known, present
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.ollama import installed, is_since, setting
from gpudoctor.queries.visibility import CUDA, read_cuda

_SWITCH, _MASK = "OLLAMA_VULKAN", "GGML_VK_VISIBLE_DEVICES"
_OFF = ("0", "false", "f")


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = f"Turn Vulkan off for Ollama, so that {CUDA} alone decides"
    return (with_variable(facts, _SWITCH, "0", message),)


@check(
    title="Ollama uses GPUs through Vulkan that CUDA_VISIBLE_DEVICES hides from it",
    severity=Severity.WARNING,
    cause="Since 0.30 Ollama uses Vulkan by default. CUDA_VISIBLE_DEVICES does not apply to Vulkan: a GPU that "
    "it hides is used through Vulkan instead, next to what was meant to have it.",
    fixes=_fixes,
    references=(
        "https://docs.ollama.com/gpu",
        "https://github.com/ollama/ollama/issues/17609",
        "https://github.com/ollama/ollama/issues/16592",
    ),
    targets=installed,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def vulkan_unmasked(facts: Facts) -> Problem | None:
    """The variables of the service, Ollama's library for Vulkan, and a Vulkan driver of NVIDIA."""
    named, gpus = setting(facts, CUDA), nvidia_gpus(facts)
    if named is None or not named.path or not facts.ollama.vulkan_driver or any(g.mig is True for g in gpus):
        return None
    switch = setting(facts, _SWITCH)
    if setting(facts, _MASK) or (switch and switch.value.lower() in _OFF):
        return None
    hidden = len(gpus) - len(read_cuda(facts, named.value).visible)
    if hidden <= 0 or "MIG-" in named.value or "vulkan" not in known(facts.ollama.backends):
        return None
    if not is_since(facts, ollama().vulkan_beside):
        return None
    return Problem(
        f"{CUDA}={named.value} ({named.path}) hides {hidden} of {len(gpus)} GPUs from Ollama "
        f"{present(known(facts.ollama.release))}, which uses them through Vulkan all the same."
    )
