"""A PyTorch whose run-time compiler does not know the GPU, although its own kernels run on it."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge import torch
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import known
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import major, numbers, wheels
from gpudoctor.targets import ANY_GPU, OnFramework, torches


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return reinstall_torch(on.facts, on.python, on.framework)


def _nvrtc(on: OnFramework, cuda: str) -> str:
    """The release of the NVRTC that PyTorch loads: of the wheel for its CUDA major, else PyTorch's own CUDA."""
    found = [p.version for p in wheels(on.python, "cuda-nvrtc") if major(p.version) == major(cuda)]
    return ".".join(found[0].split(".")[:2]) if found else cuda


@check(
    title="nvrtc: error: invalid value for --gpu-architecture (-arch)",
    severity=Severity.WARNING,
    cause="PyTorch compiles some operations at run time (torch.prod, complex numbers, fused TorchScript), with the "
    "NVRTC of its CUDA release (JIT). It asks for the GPU's own architecture: before 1.13 always, since then from CUDA "
    "11.8 on. An NVRTC that is older than the GPU does not know it, although PyTorch's ready-made kernels run.",
    fixes=_fixes,
    references=(
        "https://github.com/pytorch/pytorch/issues/87595",
        "https://github.com/pytorch/pytorch/pull/87611",
        "https://github.com/isaac-sim/IsaacLab/issues/5520",
    ),
    targets=torches,
    only_with=(f"{ANY_GPU} pythons.frameworks.cuda? pythons.frameworks.version?",),
    caused_by=("python.*", "pytorch.arch-missing", "pytorch.driver-too-old"),
    affects=("wheels",),
    validated_on=("facts 2026-11",),
)
def nvrtc_too_old(on: OnFramework) -> str | None:
    """It asks for the GPU's own architecture, of an older NVRTC than the first that compiles for a visible GPU."""
    cuda, number = known(on.framework.cuda), known(on.framework.version)
    if cuda is None or number is None or not torch.asks_nvrtc_for_own_arch(number, cuda):
        return None
    nvrtc = _nvrtc(on, cuda)
    for gpu in visible_gpus(on.facts):
        capability = known(gpu.capability)
        first = (toolkits_of(capability) or ("0", None))[0] if capability else "0"
        if numbers(nvrtc)[:2] < numbers(first)[:2]:
            return (
                f"The NVRTC of {on.name}, of CUDA {nvrtc}, does not know {gpu_words(gpu)}; "
                f"CUDA {first} is the first that does."
            )
    return None
