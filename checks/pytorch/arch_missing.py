"""PyTorch without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.families.builds import GpuCode
from gpudoctor.fixes.by_message import assumed_cuda
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.maybe import known, present
from gpudoctor.queries.capability import compiled_for, covers, side
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework


def _code(on: OnFramework) -> GpuCode | None:
    """What the build was compiled for, by itself, by its files, or by the code that is in them."""
    if known(on.framework.cuda) is None or not visible_gpus(on.facts):
        return None
    live = on.framework.live
    archs = compiled_for(live.archs if live else (), on.framework.archs, on.framework.kernels)
    return GpuCode.compiled_for(archs, lambda capability: covers(archs, capability) is not None)


def _fixes(on: OnFramework, code: GpuCode, gpu: Gpu) -> tuple[Fix, ...]:
    wheel = reinstall_torch(on.facts, on.python, on.framework, gpu, keep=True)
    if wheel:
        return wheel
    newer = newer_driver(on.facts, assumed_cuda()) if side(code.archs, present(gpu.capability)) == "newer" else ()
    return newer or (
        Fix(
            "Build PyTorch from source for this compute capability, or use another GPU: no wheel for this Python and "
            "driver has code for it. https://github.com/pytorch/pytorch#from-source"
        ),
    )


_OTHERS = "This build of PyTorch was compiled for other compute capabilities than this GPU's."

arch_missing = builds.arch_missing(
    PYTORCH,
    __name__,
    code=_code,
    fixes=_fixes,
    cause=_OTHERS,
    by_side={
        "newer": "GPU code runs only within the major compute capability that it was compiled for, and this GPU is "
        "newer than this build of PyTorch ('no kernel image is available for execution on the device'). A build for a "
        "newer CUDA has code for it. torch.cuda.is_available() returns True all the same.",
        "older": "Builds for newer CUDA releases drop old GPUs, so a GPU of this generation needs a build for an OLDER "
        "CUDA: an upgrade makes it worse.",
        "between": _OTHERS,
    },
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility",
        "https://github.com/pytorch/pytorch/blob/main/RELEASE.md#release-compatibility-matrix",
        "https://github.com/Comfy-Org/ComfyUI/issues/8708",
        "https://github.com/Kaggle/kaggle-cli/issues/1151",
    ),
    caused_by=("python.*",),
    validated_on=("simulated 2026-11",),
)
