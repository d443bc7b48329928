"""CuPy built for CUDA beside AMD GPUs."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.remedies.frameworks import cupy_verify
from gpudoctor.remedies.python import uninstall
from gpudoctor.subjects import OnFramework, cupys, gpu_name
from gpudoctor.views.frameworks import is_sole
from gpudoctor.views.gpus import amd_alone

_GUIDE = "https://docs.cupy.dev/en/stable/install.html#using-cupy-on-amd-gpu-experimental"


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    says = f"Remove it, and install AMD's build amd-cupy or build CuPy for ROCm: {_GUIDE}"
    command = uninstall(on.python, on.framework.distribution or "cupy")
    return (Fix(says, (command,), "reinstall-package", verify=cupy_verify(on.python)),)


@check(
    title="CuPy is built for NVIDIA GPUs, and this machine has AMD's",
    severity=Severity.WARNING,
    cause="The wheels cupy-cudaNNx call CUDA alone, and CuPy has no CPU to fall back to; ROCm needs its own build.",
    fixes=_fixes,
    references=(_GUIDE,),
    each=cupys,
    because=("python.*",),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def wrong_vendor(on: OnFramework) -> Problem | None:
    """A CUDA build where AMD GPUs and ROCm are there, nothing of NVIDIA's, and no other framework uses the GPU."""
    if known(on.framework.variant) != "cuda" or not is_sole(on.python, on.framework):
        return None
    gpus = amd_alone(on.facts)
    return Problem(f"{on.name} is built for CUDA; {gpu_name(gpus[0])} is an AMD GPU.") if gpus else None
