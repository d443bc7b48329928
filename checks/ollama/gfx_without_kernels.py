"""Ollama's library for ROCm has no kernels for this AMD GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes import nixos, ollama, system
from gpudoctor.knowledge import rocm
from gpudoctor.knowledge.ollama import ollama as ollama_rules
from gpudoctor.maybe import known, known_or, present, text_of
from gpudoctor.queries.gfx import OVERRIDE, covers
from gpudoctor.queries.ollama import on_amd
from gpudoctor.targets import gpu_name, gpus_of, in_container

# Distributions whose own rocBLAS may be built for more targets than AMD's.
_OWN_BUILDS = ("fedora", "suse")


def _candidates(facts: Facts) -> tuple[Gpu, ...]:
    """The graphics cards; without any, the integrated GPUs."""
    gpus = gpus_of(facts, "amd")
    return tuple(gpu for gpu in gpus if gpu.integrated is False) or gpus


def _supported(facts: Facts) -> tuple[str, ...]:
    """The targets of its rocBLAS, or of the system's that a package uses; none where that may have others."""
    there, rules = known(facts.ollama.gfx), ollama_rules()
    installed = present(facts.ollama.program).startswith("/usr/local/") or in_container(facts)
    if not there and not installed:
        there = known_or(facts.amd.blas, ())
    if there or (not installed and (nixos.is_nixos(facts) or system.family_of(facts) in _OWN_BUILDS)):
        return there
    return (*rules.gfx, *rules.dropped)


def _is_overridden(facts: Facts) -> bool:
    return any(one.name.startswith(OVERRIDE) for one in known(facts.ollama.settings))


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    gfx = text_of(_candidates(facts)[0].gfx)
    value, last = rocm.override_for(gfx), ollama_rules().dropped.get(gfx)
    vulkan = ollama.with_vulkan(facts)
    older = (
        ollama.older(facts, last, f"Install Ollama {last}, the last release with kernels for {gfx}.") if last else None
    )
    if value is None:
        return (older, vulkan) if older else (vulkan,)
    message = f"Set {OVERRIDE}={value} for Ollama, so that {gfx} uses the kernels of its sibling"
    option = f'services.ollama.rocmOverrideGfx = "{value}";'
    return ollama.with_variable(facts, OVERRIDE, value, message, option), vulkan


@check(
    title="Ollama has no kernels for this AMD GPU and computes on the CPU",
    severity=Severity.WARNING,
    cause="The rocBLAS in Ollama has kernels for some gfx targets only (TensileLibrary_lazy_gfx1030.dat). On another "
    "GPU it computes on the CPU: 'amdgpu is not supported (supported types ...)', in newer releases 'failure during "
    "GPU discovery', 'runner crashed'. HSA_OVERRIDE_GFX_VERSION makes GPUs with the same instruction set use a "
    "sibling's kernels; the service reads it from its unit, not from a shell.",
    fixes=_fixes,
    references=(
        "https://docs.ollama.com/gpu",
        "https://github.com/ollama/ollama/issues/8679",
        "https://github.com/ollama/ollama/issues/8473",
        "https://github.com/ollama/ollama/issues/12774",
        "https://github.com/ollama/ollama/issues/15762",
    ),
    targets=on_amd,
    only_with=("ollama.program",),
    affects=("tools",),
    validated_on=("simulated 2026-11",),
)
def gfx_without_kernels(facts: Facts) -> Problem | None:
    """No GPU is of a target that its rocBLAS has, and no override names one; ADVICE for integrated GPUs."""
    supported, gpus = _supported(facts), _candidates(facts)
    if not supported or "vulkan" in known(facts.ollama.backends) or _is_overridden(facts):
        return None
    targets = [known(gpu.gfx) for gpu in gpus]
    if any(target is None or covers(supported, target) for target in targets):
        return None
    gpu = gpus[0]
    message = (
        f"Ollama's library for ROCm has no kernels for {text_of(gpu.gfx)}, which {gpu_name(gpu)} is: it has those for "
        f"{' '.join(supported)}. So it computes on the CPU."
    )
    here = facts.host.environment.get(OVERRIDE)
    if here and known(facts.ollama.service.user):
        message += f" {OVERRIDE}={here} is set here, but not for ollama.service."
    return Problem(message, severity=None if gpu.integrated is False else Severity.ADVICE)
