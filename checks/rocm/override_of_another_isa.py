"""HSA_OVERRIDE_GFX_VERSION names an instruction set that the GPU does not have."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import rocm, torch
from gpudoctor.maybe import known, known_or, present
from gpudoctor.queries.gfx import OVERRIDE, both_old, override_text, same_isa
from gpudoctor.queries.visibility import visible_amd
from gpudoctor.targets import amd_compute
from gpudoctor.tasks import export, filtered, query, unset


def computing(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that programs compute on: discrete ones, or the integrated one where it is alone."""
    visible = visible_amd(facts)
    return tuple(g for g in visible if g.integrated is not True) or visible


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    names = [n for n in facts.host.environment if n.startswith(OVERRIDE)]
    free = Fix(
        f"Unset {OVERRIDE}, and remove it from ~/.bashrc, the launch script or the container's environment.",
        tuple(unset(n) for n in names),
        "change-environment",
        needs="restart of the program",
        verify=filtered(query("rocminfo"), query("grep", "-E", "Name: +gfx")),
    )
    gpu = computing(facts)[0]
    right = rocm.override_for(present(gpu.gfx))
    if right and torch.rocm_for(present(gpu.gfx)) is None:
        message = f"Set the value that matches {present(gpu.gfx)}."
        return free, Fix(message, (export(OVERRIDE, right),), "change-environment", undo=(unset(OVERRIDE),))
    if torch.rocm_for(present(gpu.gfx)):
        wheels = [(p, f) for p in facts.pythons for f in p.frameworks if f.name == "torch" and isinstance(f.hip, str)]
        missing = [(p, f) for p, f in wheels if gpu.gfx not in known_or(f.archs, ())]
        return (free, *(fix for p, f in missing[:1] for fix in reinstall_torch(facts, p, f, gpu)))
    return (free,)


@check(
    title="HSA_OVERRIDE_GFX_VERSION does not match the GPU's instruction set",
    severity=Severity.ERROR,
    cause="The override makes ROCm load kernels of another gfx target. That works only within one instruction set: "
    "kernels of another one fail with HSA_STATUS_ERROR_INVALID_ISA, hang the GPU or return wrong results.",
    fixes=_fixes,
    references=(
        "https://github.com/likelovewant/ROCmLibs-for-gfx1103-AMD780M-APU/issues/37",
        "https://llvm.org/docs/AMDGPUUsage.html",
        "https://github.com/ROCm/ROCm/issues/1743",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def override_of_another_isa(facts: Facts) -> Problem | None:
    """The override matches none of the GPUs, or is not a version; a WARNING where it is known to hang."""
    if not any(name.startswith(OVERRIDE) for name in facts.host.environment):
        return None
    gpus = [(g, known(g.gfx), text) for g in computing(facts) if (text := override_text(facts, g))]
    verdicts = [_judge(facts, gfx, text) for _, gfx, text in gpus if gfx]
    if not verdicts or None in verdicts:
        return None
    gpu, gfx, text = gpus[0]
    why, severity = verdicts[0] or ("", Severity.ERROR)
    message = (
        f"{OVERRIDE} is {text}, but GPU {gpu.index} ({known_or(gpu.name, None) or 'AMD'}) is {present(gfx)}: {why}."
    )
    return Problem(message, (f"{OVERRIDE}={text}",), severity=severity)


def _judge(facts: Facts, gfx: str, text: str) -> tuple[str, Severity] | None:
    target = rocm.gfx_of_override(text)
    if target is None:
        return "it is not in the form 10.3.0, and ROCm refuses to start with it", Severity.ERROR
    if target == gfx or both_old(target, gfx) or _ran(facts, gfx, target):
        return None
    if not same_isa(gfx, target):
        return f"{target} has another instruction set than {gfx}", Severity.ERROR
    if rocm.hangs_as(gfx) == target:
        return f"the family is the same, but {gfx} is known to hang with kernels of {target}", Severity.WARNING
    return None


def _ran(facts: Facts, gfx: str, target: str) -> bool:
    """Whether every framework for ROCm here is of a release with which the override worked."""
    builds = [f.hip for p in facts.pythons for f in p.frameworks if isinstance(f.hip, str)]
    return bool(builds) and all(rocm.ran_as(gfx, target, hip) for hip in builds)
