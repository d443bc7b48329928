"""HSA_OVERRIDE_GFX_VERSION is set although it is not needed, or matches only one of the GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import known, known_or, present, text_of
from gpudoctor.queries.gfx import OVERRIDE, covers, override_text, same_isa
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import export, unset


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    free = Fix(
        f"Unset {OVERRIDE}, and remove it from ~/.bashrc, the launch script or the container's environment.",
        (unset(OVERRIDE),),
        "change-environment",
        needs="restart of the program",
    )
    needy = [g for g in visible_amd(facts) if rocm.override_for(text_of(g.gfx))]
    if len(visible_amd(facts)) > 1 and needy:
        text = present(rocm.override_for(text_of(needy[0].gfx)))
        message = "If one of the GPUs needs it: set it for that GPU only."
        return free, Fix(message, (export(f"{OVERRIDE}_{needy[0].index}", text),), "change-environment")
    return (free,)


@check(
    title="HSA_OVERRIDE_GFX_VERSION is set but not needed for every GPU",
    severity=Severity.ADVICE,
    cause="The override applies to all GPUs of the machine. On a GPU that has kernels of its own it selects slower or "
    "wrong ones, and on mixed GPUs it breaks those with another instruction set.",
    fixes=_fixes,
    references=("https://github.com/ROCm/ROCm/issues/1743", "https://llvm.org/docs/AMDGPUUsage.html"),
    targets=amd_compute,
    caused_by=("rocm.override-of-another-isa", "rocm.not-loaded"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def override_left_on(facts: Facts) -> Problem | None:
    """ADVICE where the framework supports the GPU itself, WARNING where it matches only some GPUs."""
    text = facts.host.environment.get(OVERRIDE)
    target = rocm.gfx_of_override(text) if text else None
    if target is None:
        return None
    gpus = [(g, known(g.gfx)) for g in visible_amd(facts) if override_text(facts, g) == text]
    discrete = [(g, gfx) for g, gfx in gpus if gfx and g.integrated is not True]
    misfit = [(g, gfx) for g, gfx in discrete if not same_isa(gfx, target)]
    if misfit and len(misfit) < len(discrete):
        gpu, gfx = misfit[0]
        name = known_or(gpu.name, None) or "AMD"
        message = f"{OVERRIDE}={present(text)} applies to all GPUs, but GPU {gpu.index} ({name}) is {gfx}."
        return Problem(message, severity=Severity.WARNING)
    archs = [known_or(f.archs, ()) for p in facts.pythons for f in p.frameworks if isinstance(f.hip, str)]
    native = [gfx for _, gfx in discrete or gpus if gfx and gfx != target and archs and covers(archs[0], gfx)]
    if not native or misfit:
        return None
    return Problem(f"{OVERRIDE}={present(text)} is set, although the framework has kernels for {native[0]} itself.")
