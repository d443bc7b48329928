"""The integrated GPU is HIP's device 0, and the graphics card comes after it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.variables import assign
from gpudoctor.fixes.verify_commands import hip_proof
from gpudoctor.maybe import known, known_or, phrases
from gpudoctor.queries.gfx import OVERRIDE, covers, effective, override_text, same_isa
from gpudoctor.queries.visibility import HIP, hip_numbers, visible_amd
from gpudoctor.targets import amd_compute


def _discrete(facts: Facts) -> tuple[Gpu, ...]:
    return tuple(gpu for gpu in visible_amd(facts) if gpu.integrated is False)


def _runs(facts: Facts, gpu: Gpu) -> bool:
    """Whether an installed framework has kernels that run on this GPU, or nobody knows."""
    own, target = known(gpu.gfx), effective(facts, gpu)
    archs = [known_or(f.archs, ()) for p in facts.pythons for f in p.frameworks if isinstance(f.hip, str)]
    if own is None or not any(archs):
        return True
    return target is not None and (own == target or same_isa(own, target)) and any(covers(a, target) for a in archs)


def _words(gpu: Gpu) -> str:
    named = " ".join(dict.fromkeys((known_or(gpu.name, None) or "AMD GPU", known_or(gpu.gfx, None) or "gfx unknown")))
    return f"device {gpu.index} ({named})"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Expose only the graphics card to programs. (Or disable the iGPU in the firmware setup, the BIOS.)"
    return (assign(HIP, hip_numbers(facts, _discrete(facts)), message, hip_proof(facts)),)


@check(
    title="The integrated GPU (iGPU) is HIP device 0, before the graphics card",
    severity=Severity.WARNING,
    cause="HIP numbers GPUs in the order in which the kernel's compute driver (KFD) lists them, and programs use "
    "device 0 by default. An iGPU shares the CPU's memory, is slow, and ROCm's libraries often have no "
    "kernels for it: 'invalid device function', a hang or a crash. HSA_OVERRIDE_GFX_VERSION applies to it too.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/3401",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
    vendor="amd",
)
def hip_integrated_first(facts: Facts) -> Problem | None:
    """A warning where no framework runs on the iGPU; advice where one does."""
    visible, cards = visible_amd(facts), _discrete(facts)
    if not visible or not cards or not known(visible[0].integrated):
        return None
    first = visible[0]
    text = override_text(facts, first)
    works = _runs(facts, first)
    message = (
        f"HIP's first GPU is {_words(first)}, which is integrated into the CPU; the graphics card is "
        f"{_words(cards[0])}. Programs pick the first"
    )
    message += "." if works else ", for which the installed framework has no kernels."
    evidence = phrases(f"{OVERRIDE}={text}" if text else "", f"HIP order: {', '.join(map(_words, visible))}")
    return Problem(message, tuple(filter(None, evidence)), severity=None if not works else Severity.ADVICE)
