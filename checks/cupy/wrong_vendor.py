"""CuPy built for another vendor's GPUs."""

from gpudoctor.check_engine import Fix, Severity
from gpudoctor.checks.cupy import CUPY
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.fixes.frameworks import cupy_verify
from gpudoctor.fixes.python import uninstall
from gpudoctor.targets import OnFramework

_GUIDE = f"{CUPY.docs}#using-cupy-on-amd-gpu-experimental"


def _fixes(on: OnFramework, gpu: Gpu) -> tuple[Fix, ...]:
    if gpu.vendor == "nvidia":
        return CUPY.fitting(on)
    message = f"Remove it, and install AMD's build amd-cupy or build CuPy for ROCm: {_GUIDE}"
    command = uninstall(on.python, on.framework.distribution or "cupy")
    return (Fix(message, (command,), "reinstall-package", verify=cupy_verify(on.python)),)


wrong_vendor = builds.wrong_vendor(
    CUPY,
    __name__,
    fixes=_fixes,
    brings_rocm=False,
    severity=Severity.WARNING,
    cause="The wheels cupy-cudaNNx support only CUDA, those for ROCm only AMD GPUs, and CuPy does not run on the CPU.",
    references=(_GUIDE,),
    caused_by=("python.*",),
    validated_on=("table 2026-11",),
)
