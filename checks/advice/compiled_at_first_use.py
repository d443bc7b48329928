"""PyTorch that has only PTX for a GPU, where a wheel with machine code exists."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Gpu
from gpudoctor.fixes.torch_build import reinstall_torch, torch_choice
from gpudoctor.knowledge import torch
from gpudoctor.knowledge.kernels import coverage
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.advice import torches
from gpudoctor.queries.capability import covers, gpu_words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, nvidia_hardware


def _served(on: OnFramework) -> Gpu | None:
    """A GPU for which this build has only PTX, while the matching wheel has machine code.

    Raises:
        UnknownFactError: what the build was compiled for, or what the GPU is, is not known.
    """
    archs = known(on.framework.archs if isinstance(on.framework.kernels, Unknown) else on.framework.kernels)
    first = {known(gpu.capability): gpu for gpu in reversed(visible_gpus(on.facts))}  # of each kind
    for capability, gpu in first.items():
        if capability and covers(archs, capability) == "ptx" and _better(on, gpu, capability):
            return gpu
    return None


def _better(on: OnFramework, gpu: Gpu, capability: str) -> bool:
    choice = torch_choice(on.facts, on.python, gpu)
    machine = on.facts.host.architecture if isinstance(on.facts.host.architecture, str) else "x86_64"
    targets = torch.targets_of(choice.version, choice.variant, machine) if choice else None
    return bool(targets) and coverage(targets or "", capability) == "machine code"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    for on in torches(facts):
        if gpu := _served(on):
            return reinstall_torch(facts, on.python, on.framework, gpu)
    return ()


@check(
    title="PyTorch has only PTX for this GPU: kernels are compiled at first use",
    severity=Severity.ADVICE,
    cause="The build has PTX but no machine code for this GPU: the driver JIT-compiles each kernel when it is first "
    "used, which makes first runs slow and needs space in ~/.nv/ComputeCache.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-c-programming-guide/#just-in-time-compilation",),
    targets=nvidia_hardware,
    caused_by=("pytorch.arch-missing",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def compiled_at_first_use(facts: Facts) -> Problem | None:
    """Only PTX covers a visible GPU, and another wheel for this driver and Python has machine code."""
    for on in torches(facts):
        gpu = _served(on)
        if gpu is not None:
            return Problem(f"{on.name} has no machine code for {gpu_words(gpu)}, only PTX; a newer build has both.")
    return None
