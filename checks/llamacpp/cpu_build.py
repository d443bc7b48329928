"""llama.cpp without a backend for GPUs, on a machine with one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import llama_cpp as fixes
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.intel import card_name, discrete, driven
from gpudoctor.queries.llama_cpp import installed, name_of, vendors
from gpudoctor.targets import gpu_name, gpus_of


def _idle(facts: Facts) -> tuple[str, str] | None:
    """The backend for a GPU of its own that programs can use, and the GPU's name; graphics in a CPU gain little."""
    here = vendors(facts)
    if "nvidia" in here:
        return "cuda", gpu_name(nvidia_gpus(facts)[0])
    radeons = [gpu for gpu in gpus_of(facts, "amd") if gpu.integrated is False]
    if "amd" in here and radeons:
        return "hip", gpu_name(radeons[0])
    cards = [card for card in discrete(facts) if card in driven(facts)]
    return ("sycl", card_name(cards[0])) if "intel" in here and cards else None


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    found = _idle(facts)
    if found is None:
        return ()
    return (fixes.image(facts, found[0]) or fixes.build(facts, found[0]),)


@check(
    title="llama.cpp is a build for the CPU on a machine with a GPU",
    severity=Severity.ADVICE,
    cause="llama.cpp is built for the CPU alone unless CMake is given a backend (GGML_CUDA, GGML_HIP, GGML_SYCL, "
    "GGML_VULKAN). Then it ignores --gpu-layers: 'no usable GPU found'.",
    fixes=_fixes,
    references=(
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md",
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md",
        "https://github.com/ggml-org/llama.cpp/issues/9153",
    ),
    targets=installed,
    affects=("tools",),
    validated_on=("table 2026-11",),
)
def cpu_build(facts: Facts) -> Problem | None:
    """Its library for the CPU is there, and none for any kind of GPU; it may be meant so."""
    if known(facts.llama_cpp.backends) or facts.llama_cpp.missing:
        return None
    found = _idle(facts)
    if found is None:
        return None
    return Problem(f"{name_of(facts)} has no library for a GPU and computes on the CPU: {found[1]} stays idle.")
