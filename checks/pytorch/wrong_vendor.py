"""PyTorch built for another vendor's GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.python import reinstall_torch
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import known, phrase, phrases, present
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus, torch_gfx
from gpudoctor.targets import OnFramework, gpu_name, has_nvidia, torches
from gpudoctor.tasks import export


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    gpu = _gpu(on)
    return (*reinstall_torch(on.facts, on.python, on.framework, gpu), *_override(gpu)) if gpu else ()


def _override(gpu: Gpu) -> tuple[Fix, ...]:
    """A target without code of its own borrows its sibling's."""
    if not isinstance(gpu.gfx, str) or torch_gfx(gpu.gfx) in (gpu.gfx, None):
        return ()
    number = present(rocm.override_for(gpu.gfx))
    message = f"Let {gpu.gfx} run its sibling's code, once that wheel is installed: the wheels have none for it."
    return (Fix(message, (export("HSA_OVERRIDE_GFX_VERSION", str(number)),), "change-environment"),)


def _gpu(on: OnFramework) -> Gpu | None:
    """The other vendor's GPU, where none of the vendor that PyTorch was built for is there."""
    nvidia, amd = nvidia_gpus(on.facts), amd_gpus(on.facts)
    if known(on.framework.variant) == "cuda" and not nvidia and not has_nvidia(on.facts):
        return next(iter(amd), None)
    if on.framework.variant in ("rocm", "xpu") and not amd:
        return next(iter(nvidia), None)
    return None


_BUILDS = {"cuda": ("CUDA", "NVIDIA"), "rocm": ("ROCm", "AMD"), "xpu": ("XPU", "Intel")}


@check(
    title="PyTorch is built for the GPUs of another vendor",
    severity=Severity.ERROR,
    cause="PyPI's PyTorch for Linux is built for CUDA, so it wins wherever the ROCm index was only an extra one "
    "(--extra-index-url), and an image or a lock file made for one vendor does not serve the other.",
    fixes=_fixes,
    references=(
        "https://pytorch.org/get-started/locally/",
        "https://github.com/HAMM3REXTREME/ComfyUI-Installer/issues/15",
        "https://github.com/vllm-project/vllm/issues/16080",
    ),
    targets=torches,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def wrong_vendor(on: OnFramework) -> Problem | None:
    """A CUDA build beside AMD GPUs alone, or a ROCm build beside NVIDIA GPUs alone."""
    known(on.framework.variant)
    gpu = _gpu(on)
    if gpu is None:
        return None
    build, vendor = _BUILDS[present(on.framework.variant)]
    number = on.framework.cuda if build == "CUDA" else on.framework.hip
    words = f"{build} {number}" if isinstance(number, str) else build
    theirs = "an NVIDIA" if gpu.vendor == "nvidia" else "an AMD"
    message = f"{on.name} is built for {words}, which is for {vendor} GPUs; {gpu_name(gpu)} is {theirs} GPU."
    return Problem(message, evidence=phrases(phrase(f"torch/version.py: {build.lower()} {{}}", number)))
