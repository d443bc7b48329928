"""PyTorch built for another vendor's GPUs."""

from gpudoctor.check_engine import Fix, Severity
from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import rocm
from gpudoctor.maybe import phrase, phrases, present
from gpudoctor.queries.gpus import torch_gfx
from gpudoctor.targets import OnFramework
from gpudoctor.tasks import export


def _fixes(on: OnFramework, gpu: Gpu) -> tuple[Fix, ...]:
    return (*reinstall_torch(on.facts, on.python, on.framework, gpu, keep=True), *_override(gpu))


def _override(gpu: Gpu) -> tuple[Fix, ...]:
    """A target without code of its own borrows its sibling's."""
    if not isinstance(gpu.gfx, str) or torch_gfx(gpu.gfx) in (gpu.gfx, None):
        return ()
    number = present(rocm.override_for(gpu.gfx))
    message = f"Let {gpu.gfx} run its sibling's code, once that wheel is installed: the wheels have none for it."
    return (Fix(message, (export("HSA_OVERRIDE_GFX_VERSION", str(number)),), "change-environment"),)


def _seen(on: OnFramework) -> tuple[str, ...]:
    cuda, hip = on.framework.cuda, on.framework.hip
    line = phrase("cuda {}", cuda) if on.framework.variant == "cuda" else phrase("rocm {}", hip)
    return phrases(f"torch/version.py: {line}" if line else "")


wrong_vendor = builds.wrong_vendor(
    PYTORCH,
    __name__,
    fixes=_fixes,
    brings_rocm=True,
    evidence=_seen,
    severity=Severity.ERROR,
    cause="PyPI's PyTorch for Linux is built for CUDA and wins wherever the ROCm index was only an extra one "
    "(--extra-index-url). An image or lock file made for one vendor does not work on another's GPUs.",
    references=(
        PYTORCH.docs,
        "https://github.com/HAMM3REXTREME/ComfyUI-Installer/issues/15",
        "https://github.com/vllm-project/vllm/issues/16080",
    ),
    caused_by=("python.*",),
    validated_on=("simulated 2026-11",),
)
