"""Ollama without its library for the GPU that is here."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import ollama, system
from gpudoctor.knowledge.ollama import ollama as ollama_rules
from gpudoctor.maybe import known, present
from gpudoctor.queries.ollama import installed, wanted_backend
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import cards_of
from gpudoctor.tasks import as_root

_NAMES = {"cuda": ("CUDA", "libggml-cuda.so", "NVIDIA"), "hip": ("ROCm", "libggml-hip.so", "AMD")}


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    backend = wanted_backend(facts) or "hip"
    if own := ollama.build_for(facts, backend):
        return (own,)
    title = _NAMES[backend][0]
    names = _left_over(facts)
    if names:
        message = (
            "Remove NVIDIA's packages, which no GPU here needs, and reinstall Ollama: its installer downloads the "
            "library for ROCm only where there is no nvidia-smi."
        )
    else:
        message = f"Reinstall Ollama: its installer downloads the library for {title} where it detects the GPU."
    remove = system.remove(facts, *names) if names else ()
    again = Fix(message, (*remove, ollama.INSTALL), "reinstall-package", root=True, verify=ollama.PROOF)
    copies = facts.ollama.copies if backend == "hip" else ()
    if not copies:
        return (again,)
    to = present(facts.ollama.directory)
    message = f"Copy the library of the other Ollama ({copies[0]}); it works where both are of about the same release."
    tasks = (as_root("cp", "-r", copies[0], f"{to}/"), ollama.RESTART)
    undo = (as_root("rm", "-r", f"{to}/{copies[0].rpartition('/')[2]}"),)
    return (again, Fix(message, tasks, "reinstall-package", root=True, undo=undo, verify=ollama.PROOF))


def _left_over(facts: Facts) -> tuple[str, ...]:
    """NVIDIA's packages where no NVIDIA GPU is on the bus; a laptop's may be switched off."""
    nvidia = wanted_backend(facts) == "cuda" or bool(cards_of(facts, "nvidia")) or facts.host.platform == "laptop"
    return () if nvidia else system.driver_packages(facts)


@check(
    title="Ollama has no library for this GPU and computes on the CPU",
    severity=Severity.ERROR,
    cause="Ollama has a library for each kind of GPU in lib/ollama next to its program: libggml-cuda.so, "
    "libggml-hip.so (ROCm), libggml-vulkan.so. Without the one for the GPU it computes on the CPU and reports no "
    "error. Its installer downloads the library for ROCm only where there is no nvidia-smi, and distributions have a "
    "package for each.",
    fixes=_fixes,
    references=(
        "https://docs.ollama.com/gpu",
        "https://docs.ollama.com/docker",
        "https://github.com/ollama/ollama/issues/8963",
        "https://github.com/ollama/ollama/issues/9842",
        "https://github.com/ollama/ollama/issues/13844",
        "https://github.com/ollama/ollama/issues/11093",
        "https://github.com/ollama/ollama/issues/14119",
    ),
    targets=installed,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def backend_missing(facts: Facts) -> Problem | None:
    """Neither Vulkan's library nor the one for this machine's GPUs is there, or that one lacks what it needs."""
    backends, wanted = known(facts.ollama.backends), wanted_backend(facts)
    if wanted in backends and not {"base", "cpu"} & set(backends):
        return Problem(
            f"Ollama in {present(facts.ollama.directory)} is incomplete: it has {_NAMES[wanted][1]}, but neither "
            "libggml-base.so, which that needs, nor a library for the CPU (libggml-cpu-*.so). So no library loads, and "
            "it computes on the CPU.",
            severity=Severity.WARNING,
        )
    if wanted is None or wanted in backends or "vulkan" in backends:
        return None
    title, library, vendor = _NAMES[wanted]
    if not backends:
        release = present(known(facts.ollama.release))
        if numbers(release) < numbers(ollama_rules().separate_libraries):
            return None
        program = present(facts.ollama.program)
        return Problem(
            f"Ollama {release} ({program}) is installed without its libraries: there is no lib/ollama next to the "
            f"directory of the program. So it computes on the CPU and not on the {vendor} GPU."
        )
    others = [_NAMES[name][0] for name in backends if name in _NAMES]
    has = f"those for {' and '.join(others)}" if others else "the CPU's alone"
    message = (
        f"Ollama in {present(facts.ollama.directory)} has no library for {title} ({library} is missing), which it "
        f"needs for the {vendor} GPU; it has {has}."
    )
    if facts.ollama.copies and wanted == "hip":
        message += f" One is in {' and '.join(facts.ollama.copies)}, where it does not look."
    return Problem(message, severity=None if others else Severity.WARNING)
