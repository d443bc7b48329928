"""A GPU that the kernel's compute driver has never supported."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.knowledge.rocm import without_kfd
from gpudoctor.maybe import known_or, phrases, present, text_of
from gpudoctor.targets import amd_compute, as_gpus, cards_of, gpus_of, has_nvidia


def _old(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs without KFD, where there is no other one to compute on."""
    gpus = gpus_of(facts, "amd") or as_gpus("amd", cards_of(facts, "amd"))
    old = tuple(gpu for gpu in gpus if without_kfd(text_of(gpu.gfx)))
    return old if len(old) == len(gpus) and not has_nvidia(facts) else ()


@check(
    title="AMD's compute driver (KFD) does not support this GPU",
    severity=Severity.ERROR,
    cause="ROCm reaches GPUs through KFD, the compute part of amdgpu. KFD starts at GCN 2 (gfx7): older chips get "
    "graphics only ('not supported in kfd'), with every kernel and every ROCm release, and no override changes that.",
    fixes=(
        Fix(
            "Use another GPU, or compute on the CPU, or with Vulkan or OpenCL (Mesa's rusticl) on this one.",
            impact="none",
        ),
    ),
    references=(
        "https://github.com/torvalds/linux/blob/master/drivers/gpu/drm/amd/amdkfd/kfd_device.c",
        "https://github.com/ROCm/legacy-rocm-build/issues/2232",
    ),
    targets=amd_compute,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def gpu_without_kfd(facts: Facts) -> Problem | None:
    """All GPUs are of a family that KFD has no code for."""
    old = _old(facts)
    if not old:
        return None
    gfx = present(old[0].gfx)
    family = present(without_kfd(gfx))
    name = known_or(old[0].name, None) or "AMD GPU"
    return Problem(
        f"{name} ({gfx}) is a {family} chip: KFD, which ROCm needs, does not support it.",
        phrases(f"GPU {old[0].index}: {gfx}"),
    )
