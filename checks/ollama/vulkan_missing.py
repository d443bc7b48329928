"""Ollama without Vulkan's library, where the only GPU is Intel's."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import ollama
from gpudoctor.maybe import known, present
from gpudoctor.queries.intel import card_name, driven
from gpudoctor.queries.ollama import on_intel

_FOR_INTEL = {"vulkan", "sycl"}  # SYCL's is in Intel's own builds (ipex-llm)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (ollama.with_vulkan(facts),)


@check(
    title="Ollama has no library for Vulkan, which it needs for Intel GPUs",
    severity=Severity.WARNING,
    cause="Ollama uses Intel's GPUs through Vulkan alone. Releases before 0.12.11, and packages of distributions that "
    "split it, are without libggml-vulkan.so: then it computes on the CPU and reports no error.",
    fixes=_fixes,
    references=(
        "https://docs.ollama.com/gpu",
        "https://github.com/ollama/ollama/issues/1590",
        "https://github.com/ollama/ollama/issues/12720",
    ),
    targets=on_intel,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def vulkan_missing(facts: Facts) -> Problem | None:
    """Neither Vulkan's nor SYCL's library is there; without any library, another check says so."""
    backends = known(facts.ollama.backends)
    if not backends or _FOR_INTEL & set(backends):
        return None
    card, directory = driven(facts)[0], present(facts.ollama.directory)
    return Problem(f"Ollama in {directory} has no libggml-vulkan.so: {card_name(card)} stays idle.")
