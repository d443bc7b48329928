"""PyTorch built for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.python import reinstall_torch
from gpudoctor.maybe import present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver_floor import behind_framework
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, torches


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    gpu = next(iter(visible_gpus(on.facts)), None)
    wheel = reinstall_torch(on.facts, on.python, on.framework, gpu)
    return (*wheel, *newer_driver(on.facts, present(on.framework.cuda)))


@check(
    title="The NVIDIA driver is too old for this PyTorch",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; for a newer major it is too old, whatever "
    "toolkit is installed. A newer minor of the same major is no problem.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
        "https://github.com/vllm-project/vllm/issues/33992",
    ),
    targets=torches,
    caused_by=(*CUDA_SYSTEM, "python.*", "pytorch.arch-missing"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """The build's CUDA major is newer than the driver's."""
    return behind_framework(on, on.name)
