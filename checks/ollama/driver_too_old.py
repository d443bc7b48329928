"""An Ollama whose libraries need a newer driver."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes import ollama
from gpudoctor.knowledge.ollama import ollama as ollama_rules
from gpudoctor.maybe import known, present
from gpudoctor.queries.driver import branch, driver_version
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.ollama import installed, is_since, wanted_backend
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import gpu_name


def _needed(facts: Facts) -> dict[int, list[Gpu]]:
    """The branches that the driver is older than, each with the GPUs that need it."""
    has, runtime = branch(known(driver_version(facts))), facts.ollama.cudart
    rows = [r for r in ollama_rules().driver if has is not None and runtime and has < r.branch]
    needed: dict[int, list[Gpu]] = {}
    for gpu in nvidia_gpus(facts) if runtime else ():
        fits = [
            row.branch
            for row in rows
            if numbers(runtime or "") >= numbers(row.runtime)
            and (not row.below or numbers(known(gpu.capability) or row.below) < numbers(row.below))
        ]
        if fits:
            needed.setdefault(max(fits), []).append(gpu)
    return needed


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    before = ollama_rules().needs_driver
    older = Fix(f"Install a release of Ollama before {before}: it uses the GPU with this driver.")
    return (*ollama.newer_driver(facts, max(_needed(facts))), older)


@check(
    title="Ollama leaves the NVIDIA GPU alone: its driver is too old",
    severity=Severity.ERROR,
    cause="Since 0.30 Ollama skips NVIDIA GPUs whose driver is older than its libraries need: branch 550, and for GPUs "
    "of a compute capability below 7.0 branch 570. Its log says 'NVIDIA driver too old'; it then computes on the CPU, "
    "or through Vulkan, which is slower.",
    fixes=_fixes,
    references=(
        "https://docs.ollama.com/gpu",
        "https://github.com/ollama/ollama/issues/17290",
        "https://github.com/ollama/ollama/issues/16415",
    ),
    targets=installed,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def driver_too_old(facts: Facts) -> Problem | None:
    """The driver's branch, and what Ollama's CUDA 12 libraries need for these GPUs; a warning where a part remains."""
    if wanted_backend(facts) != "cuda" or "cuda" not in known(facts.ollama.backends):
        return None
    needed = _needed(facts)
    if not needed or not is_since(facts, ollama_rules().needs_driver):
        return None
    gpus = [gpu for each in needed.values() for gpu in each]
    names = " and ".join(dict.fromkeys(gpu_name(gpu) for gpu in gpus))
    all_of_them = len(gpus) == len(nvidia_gpus(facts))
    vulkan = "vulkan" in known(facts.ollama.backends)
    message = (
        f"Ollama {present(known(facts.ollama.release))} uses {names} with a driver of branch {max(needed)} or newer; "
        f"this one is {present(known(driver_version(facts)))}."
    )
    return Problem(message, severity=Severity.WARNING if vulkan or not all_of_them else None)
