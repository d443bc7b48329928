"""CuPy built for CUDA beside AMD GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import cupy_verify
from gpudoctor.fixes.python import uninstall
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import amd_alone
from gpudoctor.targets import OnFramework, cupys, gpu_name

_GUIDE = "https://docs.cupy.dev/en/stable/install.html#using-cupy-on-amd-gpu-experimental"


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    message = f"Remove it, and install AMD's build amd-cupy or build CuPy for ROCm: {_GUIDE}"
    command = uninstall(on.python, on.framework.distribution or "cupy")
    return (Fix(message, (command,), "reinstall-package", verify=cupy_verify(on.python)),)


@check(
    title="CuPy is built for NVIDIA GPUs, and this machine has AMD's",
    severity=Severity.WARNING,
    cause="The wheels cupy-cudaNNx call CUDA alone, and CuPy has no CPU to fall back to; ROCm needs its own build.",
    fixes=_fixes,
    references=(_GUIDE,),
    targets=cupys,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def wrong_vendor(on: OnFramework) -> Problem | None:
    """A CUDA build where AMD GPUs and ROCm are there, nothing of NVIDIA's, and no other framework uses the GPU."""
    if known(on.framework.variant) != "cuda" or not is_sole(on.python, on.framework):
        return None
    gpus = amd_alone(on.facts)
    return Problem(f"{on.name} is built for CUDA; {gpu_name(gpus[0])} is an AMD GPU.") if gpus else None
