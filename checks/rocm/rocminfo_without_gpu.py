"""ROCm's runtime starts and lists no GPU, although the kernel's compute driver has one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import rocr
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.cause_groups import ROCR
from gpudoctor.queries.rocr import OnRocr, asked_rocr, lists_none
from gpudoctor.targets import gpus_of


def _fixes(on: OnRocr) -> tuple[Fix, ...]:
    release = known_or(on.facts.amd.rocm, None)
    supported = {rocm.supports(release, gfx) for gfx in on.targets} if release else set()
    if False in supported:
        return (rocr.another_release(on),)
    return (rocr.HIDDEN,) if supported == {True} else (rocr.HIDDEN, rocr.another_release(on))


@check(
    title="ROCm's runtime lists no GPU (rocminfo)",
    severity=Severity.ERROR,
    cause="The kernel's compute driver (KFD) lists a GPU, and ROCm's runtime (ROCr) passes over it: its release does "
    "not know the gfx target ('The GPU node has an unrecognized id'), it may not open the GPU's render node, or a "
    "variable hides it.",
    fixes=_fixes,
    references=(
        "https://github.com/rocm-arch/rocm-arch/issues/933",
        "https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html",
    ),
    targets=asked_rocr,
    caused_by=(*ROCR, "visibility.hip-hides-all", "visibility.hip-out-of-range", "visibility.rocr-and-hip"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def rocminfo_without_gpu(on: OnRocr) -> Problem | None:
    """It ended well, and no agent is a GPU; an ADVICE where others work."""
    one = on.rocr
    if not lists_none(one):
        return None
    gpus = gpus_of(on.facts, "amd")
    if not gpus:
        known(on.facts.gpus)
        return None
    release = known_or(on.facts.amd.rocm, None)
    newer = [
        f"AMD lists {gfx} as supported from ROCm {found[0]} on."
        for gfx in on.targets
        if release and (found := rocm.releases_for(gfx)) and rocm.supports(release, gfx) is False
    ]
    what = f"ROCm {release}" if release else "The installed ROCm"
    count = "one" if len(gpus) == 1 else str(len(gpus))
    message = (
        f"{what} lists no GPU, while the kernel's compute driver has {count}. {' '.join((*newer, on.consequence))}"
    )
    return Problem(message, one.lines, severity=Severity.ADVICE if on.works_elsewhere else None)
