"""A PyTorch whose run-time compiler does not know the GPU, although its own kernels run on it."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.python import reinstall_torch
from gpudoctor.knowledge import torch
from gpudoctor.knowledge.generations import toolkits_of
from gpudoctor.maybe import known
from gpudoctor.queries.capability import gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, torches


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    return reinstall_torch(on.facts, on.python, on.framework)


@check(
    title="nvrtc: error: invalid value for --gpu-architecture (-arch)",
    severity=Severity.WARNING,
    cause="PyTorch compiles some operations at run time (torch.prod, complex numbers, fused TorchScript), with the "
    "NVRTC of its CUDA release. Before 1.13 it asks for the GPU's own architecture, unknown to an older NVRTC.",
    fixes=_fixes,
    references=("https://github.com/pytorch/pytorch/issues/87595", "https://github.com/pytorch/pytorch/pull/87611"),
    targets=torches,
    caused_by=("python.*", "pytorch.arch-missing", "pytorch.driver-too-old"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def nvrtc_too_old(on: OnFramework) -> str | None:
    """A release before the fix, for an older CUDA than the first that compiles for a visible GPU."""
    cuda, number = known(on.framework.cuda), known(on.framework.version)
    if cuda is None or number is None or not torch.asks_nvrtc_for_own_arch(number):
        return None
    for gpu in visible_gpus(on.facts):
        capability = known(gpu.capability)
        first = (toolkits_of(capability) or ("0", None))[0] if capability else "0"
        if numbers(cuda)[:2] < numbers(first)[:2]:
            return (
                f"The NVRTC of {on.name}, of CUDA {cuda}, does not know {gpu_words(gpu)}; "
                f"CUDA {first} is the first that does."
            )
    return None
